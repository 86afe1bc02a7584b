import { addTeam } from 'instep/src/postgres/statements/teams.ts';
import { expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const pages = await openConsole(database);

const [ONE, TWO] = ['cus_aaaaaaaaaa1bbbbbbbbbb', 'cus_aaaaaaaaaa2bbbbbbbbbb'] as const;

/** The part of each id on a page that is never cut off. */
async function endsOn(path: string): Promise<Record<string, string>> {
  const { html } = await pages.get(path);
  const ends: Record<string, string> = {};
  const ids =
    /<bdi class="id[^"]*" title="([^"]+)"><span>([^<]*)<\/span><span>([^<]*)<\/span>([^<]*)<\/bdi>/g;
  for (const [, whole = '', start = '', middle = '', end = ''] of html.matchAll(ids)) {
    expect(start + middle + end).toBe(whole);
    ends[whole] = end;
  }
  return ends;
}

test('the last characters of an id are in view, as many as tell it from the others of its list', async () => {
  await addTeam(database.query, { name: 'One', customerId: ONE });
  const [first, second] = ['evt_aaaaaaaaaaaaaaaaaaa_0001', 'evt_aaaaaaaaaaaaaaaaaaa_0002'];
  const ofOne = { customerId: ONE, productId: 'prod_aaaaaaaaaabbbbbbbbbb' };
  for (const eventId of [first, second]) {
    await openPipeline(database)([receivedEvent({ ...ofOne, eventId })]);
  }
  const product = { [ofOne.productId]: 'bbbbbb' };
  expect(await endsOn('/events')).toEqual({
    ...{ [first]: 'a_0001', [second]: 'a_0002', [ONE]: 'bbbbbb' },
    ...product,
  });
  await openPipeline(database)([receivedEvent({ eventId: 'evt_3', customerId: TWO })]);
  expect(await endsOn('/events')).toMatchObject({ [ONE]: '1bbbbbbbbbb', [TWO]: '2bbbbbbbbbb' });
  expect(await endsOn('/teams')).toEqual({ [ONE]: 'bbbbbb' });
  expect(await endsOn('/teams/1')).toMatchObject({ [first]: 'a_0001' });
});
