import { createSubscriptionEvent, type FakeStripeApi, startFakeStripeApi } from 'instep/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import {
  type InstepProcess,
  runInstep,
  SETTINGS,
  startInstep,
} from '../support/process/instep-process.ts';

const TRIGGER = 'trigger customer.subscription.updated --customer cus_123';

/** The subscription at Stripe, as of the newest of the events below. */
const { object } = createSubscriptionEvent({
  customerId: 'cus_123',
  productId: 'prod_pro',
  createdSeconds: 1_790_000_060,
}).data;

/** Text, or a command whose output follows it. */
const STEPS = [
  'Add a team with its customer id, and post the event for its first payment:',
  '$ team add --name Acme --customer cus_123',
  `$ ${TRIGGER} --product prod_pro --id evt_2 --created 1790000060`,
  '$ team show 1',
  'An older event arrives late. It changes nothing, and the log says why:',
  `$ ${TRIGGER} --status trialing --product prod_pro --id evt_1 --created 1790000000`,
  '$ events show evt_1',
  'All teams match their events and Stripe:',
  '$ rebuild --dry-run',
  '$ reconcile --dry-run',
];

let stripe: FakeStripeApi;
let server: InstepProcess;
let environment: Record<string, string>;
beforeAll(async () => {
  stripe = await startFakeStripeApi({ productNames: { prod_pro: 'Pro' } });
  stripe.subscriptions.set(object);
  const DATABASE_URL = (await createMigratedDatabase()).href;
  environment = { ...SETTINGS, DATABASE_URL, STRIPE_API_BASE: stripe.url };
  server = await startInstep(environment);
});
afterAll(async () => {
  await server?.stop();
  await stripe?.close();
});

// To update the page: npm run docs:cli
test('the walkthrough shows what the commands print', async () => {
  const PORT = new URL(server.url).port;
  const parts: string[] = [];
  for (const step of STEPS) {
    if (!step.startsWith('$ ')) {
      parts.push(step);
      continue;
    }
    const words = step.slice(2).split(' ');
    const { code, stdout, stderr } = await runInstep(words, { ...environment, PORT });
    expect(code).toBe(0);
    parts.push(`    $ npx instep ${step.slice(2)}\n${indented(stdout + stderr)}`);
  }
  const page = `# A walkthrough\n\n${parts.join('\n\n')}\n`;
  await expect(page).toMatchFileSnapshot('../../docs/cli/walkthrough.md');
});

/** The output as a code block, with a fixed time in place of today's times. */
function indented(output: string): string {
  const today = new Date().toISOString().slice(0, 10);
  return output
    .trimEnd()
    .replace(new RegExp(`${today}T\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z`, 'g'), '2026-11-22T09:00:00.000Z')
    .replace(/^(?=.)/gm, '    ');
}
