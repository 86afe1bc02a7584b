import type { Check } from 'instep/operate';
import { expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

const { database } = await createDatabase();
let runs = 0;

async function* examine(): AsyncGenerator<Check> {
  runs += 1;
  yield { name: 'schema', state: 'ok', result: 'up to date', advice: null };
  yield { name: 'API key', state: 'warning', result: 'names no mode', advice: 'copy all of it' };
  yield { name: 'endpoint', state: 'failure', result: 'is <disabled>', advice: 'enable it' };
}

test('the overview loads what the doctor finds, failures first, and asks Stripe once', async () => {
  const pages = await openConsole(database, { examine });
  expect((await pages.get('/')).html).toContain('hx-get="/checks"');
  const { text, html } = await pages.get('/checks');
  expect(text).toMatch(/endpoint failure is <disabled> → enable it API key warning .* schema ok/);
  expect(html).not.toContain('<disabled>');
  await pages.get('/checks');
  expect(runs).toBe(1);
});

test('checks that fail are tried again', async () => {
  let fails = true;
  const pages = await openConsole(database, {
    async *examine() {
      if (fails) throw new RangeError('defect');
      yield* examine();
    },
  });
  expect((await pages.get('/checks')).status).toBe(500);
  fails = false;
  expect((await pages.get('/checks')).status).toBe(200);
});
