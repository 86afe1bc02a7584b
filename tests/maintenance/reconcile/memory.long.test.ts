import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Json } from 'instep-engine/rule';
import { expect, test } from 'vitest';
import { reconcile } from '../../support/internals/repair.ts';
import { eventBody } from '../../support/stripe/events.ts';
import { openAccount } from '../../support/stripe/reconciled-account.ts';

const PAGE = 100;
const PAGES = 1_000;
/** Stripe's list alone takes many times as much. */
const MOST_MB = 10;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function usedMb(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const { data } = JSON.parse(eventBody({ status: 'incomplete_expired' }));

/** A page of subscriptions that ended unpaid, each of a customer of its own. */
const pageAt = (page: number): Json[] =>
  Array.from({ length: PAGE }, (_, index) => {
    const id = page * PAGE + index;
    return { ...structuredClone(data.object), id: `sub_${id}`, customer: `cus_${id}` };
  });

test('100,000 subscriptions are compared in the memory of a few pages', async () => {
  const { database, services } = await openAccount();
  await database.query(
    `insert into teams (name, provider_customer_id)
     select 'Team', 'cus_' || number from generate_series(0, $1 - 1) as number`,
    [PAGE * PAGES],
  );
  const used: number[] = [];
  let pages = 0;
  const listSubscriptions: typeof services.api.listSubscriptions = async () => {
    if (pages % 100 === 50) used.push(usedMb());
    pages += 1;
    const objects = pageAt(pages - 1);
    return { objects, hasMore: pages < PAGES, answeredSeconds: null, tookMs: 0 };
  };
  const options = { ...services, api: { ...services.api, listSubscriptions } };
  const counts = await reconcile(options, new AbortController().signal);
  used.push(usedMb());
  expect(counts).toMatchObject({ subscriptions: PAGE * PAGES, teams: PAGE * PAGES, drifts: 0 });
  expect(Math.max(...used) - (used[0] ?? 0)).toBeLessThan(MOST_MB);
}, 300_000);
