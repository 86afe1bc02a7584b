import { readFileSync } from 'node:fs';
import { createSubscriptionEvent, startFakeStripeApi } from 'instep/testing';
import { afterAll, expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { runInstep, SETTINGS, startInstep } from '../support/process/instep-process.ts';

/** The subscription at Stripe, as of the newest of the events below. */
const { object } = createSubscriptionEvent({
  customerId: 'cus_123',
  productId: 'prod_pro',
  createdSeconds: 1_790_000_060,
}).data;

const page = readFileSync(new URL('../../docs/start.md', import.meta.url), 'utf8');
const [, section = ''] = /^## A walkthrough\n(.*?)(?=^## )/ms.exec(page) ?? [];

/** The section's commands, each with the output that the page shows. */
const STEPS = section
  .split(/^ {4}\$ npx instep /m)
  .slice(1)
  .map((text) => {
    const [command = '', ...lines] = text.split('\n');
    const end = lines.findIndex((line) => /^\S/.test(line));
    return {
      command,
      output: lines
        .slice(0, end < 0 ? undefined : end)
        .join('\n')
        .trimEnd(),
    };
  });

const stripe = await startFakeStripeApi({ productNames: { prod_pro: 'Pro' } });
stripe.subscriptions.set(object);
const DATABASE_URL = (await createMigratedDatabase()).href;
const environment = { ...SETTINGS, DATABASE_URL, STRIPE_API_BASE: stripe.url };
const server = await startInstep(environment);
afterAll(async () => {
  await server.stop();
  await stripe.close();
});

test('the walkthrough of start.md shows what its commands print', async () => {
  expect(STEPS.length).toBeGreaterThan(3);
  const PORT = new URL(server.url).port;
  for (const { command, output } of STEPS) {
    const { code, stdout, stderr } = await runInstep(command.split(' '), { ...environment, PORT });
    expect({ command, code, output: indented(stdout + stderr) }).toEqual({
      command,
      code: 0,
      output,
    });
  }
});

/** The output as a code block, with a fixed time in place of today's times. */
function indented(output: string): string {
  const today = new Date().toISOString().slice(0, 10);
  return output
    .trimEnd()
    .replace(new RegExp(`${today}T\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z`, 'g'), '2026-11-22T09:00:00.000Z')
    .replace(/^(?=.)/gm, '    ');
}
