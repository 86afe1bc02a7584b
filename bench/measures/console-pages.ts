import type { Ask } from '../database/bench-postgres.ts';
import { BUSY_TEAM } from './seed-console.ts';

/** A page of the console. */
export type ConsolePage = { readonly name: string; readonly path: string };

const count = (number: number) => String(number).padStart(9, '0');

/** Every page with every filter, including rare matches and distant pages. */
export async function consolePages(ask: Ask, teams: number): Promise<ConsolePage[]> {
  const [row] = await ask<{ oldest: string; newest: string; parked: string; unreadable: string }>(
    `select (select min(position) from instep.events) as oldest,
            (select max(position) from instep.events) as newest,
            (select max(position) from instep.events where outcome = 'parked') as parked,
            (select max(position) from instep.events where outcome = 'unreadable') as unreadable`,
  );
  if (row === undefined) throw new RangeError('a statement without a table has one row');
  const [newest, last] = [Number(row.newest), `${teams}`];
  const subscription = `sub_1Bench${last.padStart(18, '0')}`;
  return [
    { name: 'overview, last hour', path: '/' },
    { name: '… day', path: '/?range=day' },
    { name: '… week', path: '/?range=week' },
    { name: 'teams', path: '/teams' },
    { name: '… in the middle', path: `/teams?after=${Math.floor(teams / 2)}` },
    { name: '… of a status', path: '/teams?status=unpaid' },
    { name: '… of a lost plan', path: '/teams?status=unpaid&plan=Pro' },
    { name: '… of an unknown plan', path: '/teams?plan=unknown' },
    { name: '… with a problem', path: '/teams?problem=ambiguous+order' },
    { name: '… by a common name', path: '/teams?search=Team+7' },
    { name: '… by the name of the last team', path: `/teams?search=Team+${last}` },
    { name: '… by an unknown name', path: '/teams?search=unknown' },
    { name: '… by id', path: `/teams?search=${last}` },
    { name: '… by customer', path: `/teams?search=cus_Bench${count(teams)}` },
    { name: '… by subscription', path: `/teams?search=${subscription}` },
    { name: '… by an unknown subscription', path: '/teams?search=sub_unknown' },
    { name: 'a team', path: `/teams/${last}` },
    { name: '… with 10,000 events', path: `/teams/${BUSY_TEAM}` },
    { name: 'events', path: '/events' },
    { name: '… in the middle', path: `/events?before=${Math.floor(newest / 2)}` },
    { name: '… at the end', path: `/events?before=${Number(row.oldest) + 50}` },
    { name: '… of a customer', path: `/events?customer=cus_Bench${count(teams)}` },
    { name: '… of a customer with 10,000 events', path: `/events?team=${BUSY_TEAM}` },
    { name: '… of an unknown customer', path: '/events?customer=cus_unknown' },
    { name: '… of a rare type', path: '/events?type=customer.subscription.deleted' },
    { name: '… of an absent type', path: '/events?type=instep.subscription_snapshot' },
    { name: '… applied', path: '/events?outcome=applied' },
    { name: '… parked', path: '/events?outcome=parked' },
    { name: '… unreadable', path: '/events?outcome=unreadable' },
    { name: '… from the last hour', path: '/events?from=1h' },
    { name: '… of 10 minutes, days ago', path: '/events?from=5000m&until=4990m' },
    {
      name: '… of a day, days ago, unreadable',
      path: '/events?from=5d&until=4d&outcome=unreadable',
    },
    { name: '… of an invoice', path: '/events?invoice=in_unknown' },
    { name: '… of a subscription', path: '/events?subscription=sub_unknown' },
    { name: '… from the last week, parked, deleted', path: RARE },
    { name: 'an event', path: `/events/${newest}` },
    { name: '… of a team with 10,000 events', path: `/events/${newest - 500}` },
    { name: '… the first event', path: `/events/${row.oldest}` },
    { name: '… parked', path: `/events/${row.parked}` },
    { name: '… unreadable', path: `/events/${row.unreadable}` },
    { name: 'reconcile', path: '/reconcile' },
  ];
}

const RARE = '/events?from=7d&outcome=parked&type=customer.subscription.deleted';
