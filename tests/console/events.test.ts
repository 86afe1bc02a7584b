import fc from 'fast-check';
import type { ApplicationId } from 'instep';
import type { SubscriptionEventFields } from 'instep/testing';
import { describe, expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const ingest = openPipeline(database);
const pages = await openConsole(database);

async function deliver(
  fields: Partial<SubscriptionEventFields>,
  receivedAtMs = Date.now(),
): Promise<void> {
  await ingest([received(eventBody(fields), receivedAtMs)]);
}

const positionsIn = (html: string) =>
  [...html.matchAll(/href="\/events\/(\d+)"/g)].map(([, position]) => Number(position));

/** The address of the link with this text. */
const linkIn = (html: string, text: string) => {
  const [, href] = new RegExp(`href="([^"]*)"[^>]*>${text}`).exec(html) ?? [];
  return href?.replaceAll('&amp;', '&') ?? null;
};

/** Follows the pages to the last one. */
async function readAll(path: string, between: () => Promise<void> = async () => undefined) {
  const positions: number[] = [];
  for (let next: string | null = path; next !== null; ) {
    const { html } = await pages.get(next);
    positions.push(...positionsIn(html));
    next = linkIn(html, 'Next');
    await between();
  }
  return positions;
}

describe('the filter', () => {
  test.each([
    ['customer', 'search=cus_a', ['evt_a1', 'evt_a2']],
    ['event', 'search=evt_a1', ['evt_a1']],
    ['an event of any id', 'search=event:evt_a1', ['evt_a1']],
    ['subscription', 'search=sub_1&outcome=applied', ['evt_a1', 'evt_a2']],
    ["a team's name", 'search=Alpha', ['evt_a1', 'evt_a2']],
    ["a team's id", 'search=%231', ['evt_a1', 'evt_a2']],
    [
      'an address of the dashboard',
      'search=https://dashboard.stripe.com/events/evt_b1',
      ['evt_b1'],
    ],
    ['outcome', 'outcome=parked', ['evt_b1', 'evt_old']],
    ['several', 'search=cus_a&outcome=applied&from=2h', ['evt_a1', 'evt_a2']],
    ['no match', 'search=cus_a&outcome=stale', []],
  ])('by %s', async (_, parameters, expected) => {
    await arrange();
    const { html } = await pages.get(`/events?${parameters}`);
    expect(['evt_a1', 'evt_a2', 'evt_b1', 'evt_old'].filter((id) => html.includes(id))).toEqual(
      expected,
    );
  });

  test.each([
    ['a team that does not exist', 'search=Nobody'],
    ['several teams', 'search=lp'],
    ['a time that is none', 'from=yesterday'],
  ])('names the field with %s', async (_, parameters) => {
    await arrange();
    await addTeam(database.query, { name: 'Alpine', customerId: null });
    const { status, html } = await pages.get(`/events?${parameters}`);
    expect(status).toBe(400);
    expect(html).toContain('aria-invalid="true"');
  });

  let arranged: Promise<ApplicationId> | undefined;
  function arrange(): Promise<ApplicationId> {
    arranged ??= (async () => {
      const teamId = await addTeam(database.query, { name: 'Alpha', customerId: 'cus_a' });
      const old = Date.now() - 10 * 60 * 60 * 1_000;
      await deliver({ eventId: 'evt_old', customerId: 'cus_old', createdSeconds: 900 }, old);
      await deliver({ eventId: 'evt_a1', customerId: 'cus_a', createdSeconds: 1_000 });
      const end = { type: 'customer.subscription.deleted', status: 'canceled' };
      await deliver({ eventId: 'evt_a2', customerId: 'cus_a', createdSeconds: 2_000, ...end });
      await deliver({ eventId: 'evt_b1', customerId: 'cus_b', createdSeconds: 1_000 });
      return teamId;
    })();
    return arranged;
  }
});

test('every event is on exactly one page while new ones arrive', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 60, max: 130 }),
    fc.integer({ min: 0, max: 70 }),
    async (there, coming) => {
      const customerId = `cus_${there}_${coming}`;
      const come = (count: number) =>
        ingest(
          Array.from({ length: count }, () => received(eventBody({ customerId }), Date.now())),
        );
      await come(there);
      const before = await positionsOf(customerId);
      const read = await readAll(`/events?search=${customerId}`, async () => {
        await come(coming);
      });
      expect(read).toEqual(before.toReversed());
      await database.query('delete from instep.events where customer_id = $1', [customerId]);
    },
  );
  await fc.assert(property, { numRuns: 10 });
});

async function positionsOf(customerId: string): Promise<number[]> {
  const rows = await database.query<{ position: number }>(
    'select position from instep.events where customer_id = $1 order by position',
    [customerId],
  );
  return rows.map(({ position }) => position);
}
