import type { Ask } from '../database/bench-postgres.ts';
import { BUSY_TEAM } from './seed-console.ts';

/** A page of the console. */
export type ConsolePage = {
  readonly name: string;
  readonly path: string;
  /** A file is as long as its list, so only the time to its first byte counts. */
  readonly isFile?: true;
};

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
    ...ATTENTION,
    { name: 'teams', path: '/teams' },
    { name: '… in the middle', path: `/teams?after=${Math.floor(teams / 2)}` },
    { name: '… before the middle', path: `/teams?before=${Math.floor(teams / 2)}` },
    { name: '… at the end', path: '/teams?sort=-id' },
    { name: '… of a status', path: '/teams?status=unpaid' },
    { name: '… of an absent status', path: '/teams?status=incomplete' },
    { name: '… of a lost plan', path: '/teams?status=unpaid&plan=Pro' },
    { name: '… of an unknown plan', path: '/teams?plan=unknown' },
    { name: '… of a product', path: '/teams?product=prod_Bench000000001' },
    { name: '… out of sync', path: '/teams?problem=out+of+sync' },
    { name: '… with unknown order', path: '/teams?problem=unknown+order' },
    { name: '… with parked events', path: '/teams?problem=parked+events' },
    { name: '… with a plan without a name', path: '/teams?problem=plan+without+a+name' },
    { name: '… by a common name', path: '/teams?search=Team+7' },
    { name: '… by the name of the last team', path: `/teams?search=Team+${last}` },
    { name: '… by an unknown name', path: '/teams?search=unknown' },
    { name: '… by a name and a plan', path: `/teams?search=${last}&plan=Pro` },
    { name: '… by id', path: `/teams?search=${last}` },
    { name: '… by customer', path: `/teams?search=cus_Bench${count(teams)}` },
    { name: '… by subscription', path: `/teams?search=${subscription}` },
    { name: '… by an unknown subscription', path: '/teams?search=sub_unknown' },
    { name: '… as a file', path: '/teams?format=csv', isFile: true },
    {
      name: '… of an unknown plan as a file',
      path: '/teams?plan=unknown&format=json',
      isFile: true,
    },
    { name: 'a team', path: `/teams/${last}` },
    { name: '… with a lost plan', path: '/teams/20' },
    { name: '… with 10,000 events', path: `/teams/${BUSY_TEAM}` },
    { name: '… 200 of them', path: `/teams/${BUSY_TEAM}?events=200` },
    { name: '… older ones', path: `/teams/${BUSY_TEAM}?before=${Math.floor(newest / 2)}` },
    { name: '… for support', path: `/teams/${BUSY_TEAM}/export`, isFile: true },
    { name: 'events', path: '/events' },
    { name: '… 200 per page', path: '/events?size=200' },
    { name: '… in the middle', path: `/events?before=${Math.floor(newest / 2)}` },
    { name: '… after the middle', path: `/events?after=${Math.floor(newest / 2)}` },
    { name: '… at the end', path: `/events?before=${Number(row.oldest) + 50}` },
    { name: '… newer than shown', path: `/events/newer?after=${newest - 1_000}&count=1000` },
    { name: '… of a customer', path: `/events?customer=cus_Bench${count(teams)}` },
    { name: '… of a customer with 10,000 events', path: `/events?team=${BUSY_TEAM}` },
    {
      name: '… unreadable, of this customer',
      path: `/events?team=${BUSY_TEAM}&outcome=unreadable`,
    },
    { name: '… of an unknown customer', path: '/events?customer=cus_unknown' },
    { name: '… of a rare type', path: '/events?type=customer.subscription.deleted' },
    { name: '… of an absent type', path: '/events?type=instep.subscription_snapshot' },
    { name: '… applied', path: '/events?outcome=applied' },
    { name: '… parked', path: '/events?outcome=parked' },
    {
      name: '… parked, of a subscription',
      path: '/events?outcome=parked&subscription=sub_unknown',
    },
    { name: '… unreadable', path: '/events?outcome=unreadable' },
    { name: '… from the last hour', path: '/events?from=1h' },
    { name: '… of 10 minutes, days ago', path: '/events?from=5000m&until=4990m' },
    {
      name: '… of a day, days ago, unreadable',
      path: '/events?from=5d&until=4d&outcome=unreadable',
    },
    { name: '… of an invoice', path: '/events?invoice=in_unknown' },
    { name: '… of a subscription', path: `/events?subscription=${subscription}` },
    { name: '… of an unknown subscription', path: '/events?subscription=sub_unknown' },
    { name: '… with an unknown id', path: '/events?event=evt_unknown' },
    { name: '… from the last week, parked, deleted', path: RARE },
    { name: '… as a file', path: '/events?format=csv', isFile: true },
    {
      name: '… unreadable, as a file',
      path: '/events?outcome=unreadable&format=json',
      isFile: true,
    },
    { name: 'an event', path: `/events/${newest}` },
    { name: '… of a team with 10,000 events', path: `/events/${newest - 500}` },
    { name: '… the first event', path: `/events/${row.oldest}` },
    { name: '… parked', path: `/events/${row.parked}` },
    { name: '… unreadable', path: `/events/${row.unreadable}` },
    { name: 'search for a team', path: `/search?q=${last}` },
    { name: '… by a common name', path: '/search?q=Team+7' },
    { name: '… by an unknown name', path: '/search?q=unknown' },
    { name: '… for a customer', path: `/search?q=cus_Bench${count(teams)}` },
    { name: '… for a customer without a team', path: `/search?q=${PARKED_CUSTOMER}` },
    { name: '… for a subscription', path: `/search?q=${subscription}` },
    { name: '… for an unknown subscription', path: '/search?q=sub_unknown' },
    { name: '… for a product', path: '/search?q=prod_Bench000000001' },
    {
      name: '… for the newest event',
      path: `/search?q=evt_1Bench${String(newest - 1).padStart(18, '0')}`,
    },
    { name: '… for an unknown event', path: '/search?q=evt_unknown' },
    { name: '… for an unknown invoice', path: '/search?q=in_unknown' },
    { name: 'reconcile', path: '/reconcile' },
  ];
}

const RARE = '/events?from=7d&outcome=parked&type=customer.subscription.deleted';
const PARKED_CUSTOMER = `cus_Parked${count(13)}`;

const ATTENTION: readonly ConsolePage[] = [
  { name: 'attention', path: '/attention' },
  { name: '… all rows checked', path: '/attention?select=all' },
  { name: '… out of sync', path: '/attention?kind=out+of+sync' },
  { name: '… of an absent kind', path: '/attention?kind=changed+by+hand' },
  { name: '… parked', path: '/attention?kind=parked' },
  {
    name: '… parked, in the middle',
    path: '/attention?kind=parked&source=1&after=cus_Parked000500',
  },
  { name: '… unknown order', path: '/attention?kind=unknown+order' },
  { name: '… unreadable', path: '/attention?kind=unreadable' },
  { name: '… as a file', path: '/attention?format=csv', isFile: true },
  { name: 'what operators did', path: '/actions' },
  { name: '… half a year ago', path: `/actions?before=${(Date.now() - 182 * 86_400_000) * 1_000}` },
  { name: '… as a file', path: '/actions?format=csv', isFile: true },
];

/** The sorted lists, with as many teams as the console can sort. */
export async function sortedPages(_: Ask, teams: number): Promise<ConsolePage[]> {
  const orders = ['name', '-name', 'status', '-status', 'plan', '-plan', 'customer', '-id'];
  return [
    ...orders.map((order) => ({ name: `teams by ${order}`, path: `/teams?sort=${order}` })),
    { name: '… by plan, in the middle', path: `/teams?sort=plan&after=${Math.floor(teams / 2)}` },
    {
      name: '… by plan, before the middle',
      path: `/teams?sort=plan&before=${Math.floor(teams / 2)}`,
    },
    { name: '… by plan, of a status', path: '/teams?sort=plan&status=unpaid' },
    { name: '… by status, of a lost plan', path: '/teams?sort=status&plan=Pro' },
    { name: '… by name, with parked events', path: '/teams?sort=name&problem=parked+events' },
    { name: '… by plan, by a common name', path: '/teams?sort=plan&search=Team' },
    { name: '… by plan, as a file', path: '/teams?sort=plan&format=csv', isFile: true },
  ];
}
