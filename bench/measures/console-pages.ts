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

/** The ends of the log, its last parked and unreadable events, and the form of an operator's action. */
type Row = {
  readonly oldest: string;
  readonly newest: string;
  readonly parked: string;
  readonly unreadable: string;
  /** `null`: no action was recorded. */
  readonly form: string | null;
};

/**
 * Every page with every parameter that changes what the page reads from the database, including rare matches
 * and distant pages. Only the comparison of a team is left out, because it waits for Stripe's API.
 */
export async function consolePages(ask: Ask, teams: number): Promise<ConsolePage[]> {
  const [row] = await ask<Row>(
    `select (select min(position) from instep.events) as oldest,
            (select max(position) from instep.events) as newest,
            (select max(position) from instep.events where outcome = 'parked') as parked,
            (select max(position) from instep.events where outcome = 'unreadable') as unreadable,
            (select form_id from instep.operator_actions limit 1) as form`,
  );
  if (row === undefined) throw new RangeError('a statement without a table has one row');
  return [
    { name: 'overview, last hour', path: '/' },
    { name: '… day', path: '/?range=day' },
    { name: '… week', path: '/?range=week' },
    ...attentionPages(row),
    ...teamLists(teams),
    ...teamPages(row, teams),
    ...eventLists(row, teams),
    ...eventPages(row),
    ...searches(row, teams),
    { name: 'reconcile', path: '/reconcile' },
    { name: '… its progress', path: '/reconcile/run' },
  ];
}

const subscriptionOf = (team: number) => `sub_1Bench${String(team).padStart(18, '0')}`;
const eventId = (number: number) => `evt_1Bench${String(number).padStart(18, '0')}`;

function teamLists(teams: number): ConsolePage[] {
  const subscription = subscriptionOf(teams);
  const middle = Math.floor(teams / 2);
  return [
    { name: 'teams', path: '/teams' },
    { name: '… in the middle', path: `/teams?after=${middle}` },
    { name: '… before the middle', path: `/teams?before=${middle}` },
    { name: '… of a status', path: '/teams?status=unpaid' },
    { name: '… of an absent status', path: '/teams?status=incomplete' },
    { name: '… of an absent status, in the middle', path: `/teams?status=paused&after=${middle}` },
    { name: '… without a subscription', path: '/teams?status=none' },
    { name: '… of another status', path: '/teams?status=other' },
    { name: '… of a lost plan', path: '/teams?status=unpaid&plan=Pro' },
    {
      name: '… of a lost plan, before the middle',
      path: `/teams?status=unpaid&plan=Pro&before=${middle}`,
    },
    { name: '… of an unknown plan', path: '/teams?plan=unknown' },
    { name: '… out of sync', path: '/teams?issue=out-of-sync' },
    { name: '… changed by hand', path: '/teams?issue=changed-by-hand' },
    { name: '… with a refused plan', path: '/teams?issue=plan-refused' },
    { name: '… with an unknown customer', path: '/teams?issue=unknown-customer' },
    { name: '… with unknown order', path: '/teams?issue=unknown-order' },
    { name: '… with parked events', path: '/teams?issue=parked-events' },
    { name: '… with a plan without a name', path: '/teams?issue=products-without-name' },
    { name: '… by a common name', path: '/teams?search=Team+7' },
    { name: '… by the name of the last team', path: `/teams?search=Team+${teams}` },
    { name: '… by an unknown name', path: '/teams?search=unknown' },
    { name: '… by a name and a plan', path: `/teams?search=${teams}&plan=Pro` },
    { name: '… by a name and a problem', path: `/teams?search=${teams}&issue=parked-events` },
    { name: '… of a plan and with a problem', path: '/teams?plan=Pro&issue=unknown-order' },
    { name: '… by all filters', path: `/teams?${ALL_FILTERS}` },
    { name: '… by id', path: `/teams?search=${teams}` },
    { name: '… by customer', path: `/teams?search=cus_Bench${count(teams)}` },
    { name: '… by subscription', path: `/teams?search=${subscription}` },
    { name: '… by an unknown subscription', path: '/teams?search=sub_unknown' },
    { name: '… as a file', path: '/teams?format=csv', isFile: true },
    {
      name: '… of an unknown plan as a file',
      path: '/teams?plan=unknown&format=json',
      isFile: true,
    },
    { name: '… by all filters as a file', path: `/teams?${ALL_FILTERS}&format=csv`, isFile: true },
  ];
}

function teamPages({ newest, form }: Row, teams: number): ConsolePage[] {
  const older = `/teams/${BUSY_TEAM}?before=${Math.floor(Number(newest) / 2)}`;
  return [
    { name: 'a team', path: `/teams/${teams}` },
    { name: '… after an action', path: `/teams/${teams}?done=${form}` },
    { name: '… to be unlinked', path: `/teams/${teams}/unlink` },
    { name: '… with a lost plan', path: '/teams/20' },
    { name: '… with an unknown customer', path: `/teams/${teams - (teams % 3)}` },
    { name: '… with 10,000 events', path: `/teams/${BUSY_TEAM}` },
    { name: '… 200 of them', path: `/teams/${BUSY_TEAM}?events=200` },
    { name: '… older ones', path: older },
    { name: '… 200 older ones', path: `${older}&events=200` },
    { name: '… for support', path: `/teams/${BUSY_TEAM}/export`, isFile: true },
    {
      name: '… for support, with original events',
      path: `/teams/${BUSY_TEAM}/export?bodies=original`,
      isFile: true,
    },
  ];
}

function eventLists(row: Row, teams: number): ConsolePage[] {
  const newest = Number(row.newest);
  const middle = Math.floor(newest / 2);
  const subscription = subscriptionOf(teams);
  const newer = `/events/newer?after=${newest - 1_000}&count=1000`;
  return [
    { name: 'events', path: '/events' },
    { name: '… 200 per page', path: '/events?size=200' },
    { name: '… in the middle', path: `/events?after=${middle}` },
    { name: '… after the middle', path: `/events?before=${middle}` },
    { name: '… at the end', path: `/events?after=${Number(row.oldest) + 50}` },
    { name: '… newer than shown', path: newer },
    { name: '… newer, unreadable', path: `${newer}&outcome=unreadable` },
    { name: '… newer, of a customer', path: `${newer}&team=${BUSY_TEAM}` },
    { name: '… newer, of an invoice', path: `${newer}&invoice=in_unknown` },
    { name: '… of a customer', path: `/events?customer=cus_Bench${count(teams)}` },
    { name: '… of a customer with 10,000 events', path: `/events?team=${BUSY_TEAM}` },
    {
      name: '… unreadable, of this customer',
      path: `/events?team=${BUSY_TEAM}&outcome=unreadable`,
    },
    { name: '… of a type, of this customer', path: `/events?team=${BUSY_TEAM}&type=${DELETED}` },
    {
      name: '… of an invoice, of this customer',
      path: `/events?team=${BUSY_TEAM}&invoice=in_unknown`,
    },
    {
      name: '… with an unknown id, of this customer',
      path: `/events?team=${BUSY_TEAM}&event=evt_unknown`,
    },
    {
      name: '… of this customer, in the middle',
      path: `/events?team=${BUSY_TEAM}&after=${middle}`,
    },
    {
      name: '… of this customer, after the middle',
      path: `/events?team=${BUSY_TEAM}&before=${middle}`,
    },
    { name: '… of this customer, of a day', path: `/events?team=${BUSY_TEAM}&from=5d&until=4d` },
    { name: '… of an unknown customer', path: '/events?customer=cus_unknown' },
    { name: '… of a rare type', path: `/events?type=${DELETED}` },
    {
      name: '… of a rare type, after the middle',
      path: `/events?type=${DELETED}&before=${middle}`,
    },
    { name: '… of an absent type', path: '/events?type=instep.subscription_snapshot' },
    { name: '… applied', path: '/events?outcome=applied' },
    { name: '… unchanged', path: '/events?outcome=unchanged' },
    { name: '… stale', path: '/events?outcome=stale' },
    { name: '… parked', path: '/events?outcome=parked' },
    { name: '… parked, after the middle', path: `/events?outcome=parked&before=${middle}` },
    {
      name: '… parked, of a subscription',
      path: '/events?outcome=parked&subscription=sub_unknown',
    },
    { name: '… unreadable', path: '/events?outcome=unreadable' },
    { name: '… unreadable, in the middle', path: `/events?outcome=unreadable&after=${middle}` },
    { name: '… from the last hour', path: '/events?from=1h' },
    { name: '… up to four days ago', path: '/events?until=4d' },
    { name: '… of 10 minutes, days ago', path: '/events?from=5000m&until=4990m' },
    {
      name: '… of a day, days ago, unreadable',
      path: '/events?from=5d&until=4d&outcome=unreadable',
    },
    { name: '… of an invoice', path: '/events?invoice=in_unknown' },
    { name: '… of an invoice, of a day', path: '/events?invoice=in_unknown&from=5d&until=4d' },
    { name: '… of a subscription', path: `/events?subscription=${subscription}` },
    { name: '… of an unknown subscription', path: '/events?subscription=sub_unknown' },
    { name: '… with an id', path: `/events?event=${eventId(Number(row.oldest))}` },
    { name: '… with an unknown id', path: '/events?event=evt_unknown' },
    {
      name: '… from the last week, parked, deleted',
      path: `/events?from=7d&outcome=parked&type=${DELETED}`,
    },
    { name: '… as a file', path: '/events?format=csv', isFile: true },
    {
      name: '… unreadable, as a file',
      path: '/events?outcome=unreadable&format=json',
      isFile: true,
    },
    {
      name: '… of an invoice, as a file',
      path: '/events?invoice=in_unknown&format=json',
      isFile: true,
    },
  ];
}

function eventPages(row: Row): ConsolePage[] {
  return [
    { name: 'an event', path: `/events/${row.newest}` },
    { name: '… after an action', path: `/events/${row.newest}?done=${row.form}` },
    { name: '… its body', path: `/events/${row.newest}/body`, isFile: true },
    { name: '… of a team with 10,000 events', path: `/events/${Number(row.newest) - 500}` },
    { name: '… the first event', path: `/events/${row.oldest}` },
    { name: '… parked', path: `/events/${row.parked}` },
    { name: '… unreadable', path: `/events/${row.unreadable}` },
  ];
}

function searches({ oldest, newest }: Row, teams: number): ConsolePage[] {
  const subscription = subscriptionOf(teams);
  return [
    { name: 'search for a team', path: `/search?q=${teams}` },
    { name: '… by a common name', path: '/search?q=Team+7' },
    { name: '… by an unknown name', path: '/search?q=unknown' },
    { name: '… while it is typed', path: `/search/teams?q=${teams}` },
    { name: '… for a customer', path: `/search?q=cus_Bench${count(teams)}` },
    { name: '… for a customer without a team', path: `/search?q=${PARKED_CUSTOMER}` },
    { name: '… for a subscription', path: `/search?q=${subscription}` },
    { name: '… for an unknown subscription', path: '/search?q=sub_unknown' },
    { name: '… for a product', path: `/search?q=${PRODUCT}` },
    { name: '… for the newest event', path: `/search?q=${eventId(Number(newest) - 1)}` },
    { name: '… for an old event', path: `/search?q=${eventId(Number(oldest))}` },
    { name: '… for an unknown event', path: '/search?q=evt_unknown' },
    { name: '… for an unknown invoice', path: '/search?q=in_unknown' },
  ];
}

const DELETED = 'customer.subscription.deleted';
const PRODUCT = `prod_Bench${count(1)}`;
/** No team matches all of them. */
const ALL_FILTERS = 'search=Team&status=unpaid&plan=Pro&issue=parked-events';
const PARKED_CUSTOMER = `cus_Parked${count(13)}`;

const attentionPages = ({ newest, form }: Row): ConsolePage[] => [
  { name: 'attention', path: '/attention' },
  { name: '… all rows checked', path: '/attention?select=all' },
  { name: '… after an action', path: `/attention?done=${form}` },
  { name: '… out of sync', path: '/attention?issue=out-of-sync' },
  { name: '… plan refused', path: '/attention?issue=plan-refused' },
  { name: '… unknown customer', path: '/attention?issue=unknown-customer' },
  { name: '… of an absent kind', path: '/attention?issue=changed-by-hand' },
  { name: '… of another absent kind', path: '/attention?issue=customer-without-team' },
  { name: '… parked', path: '/attention?issue=parked-events' },
  {
    name: '… parked, in the middle',
    path: '/attention?issue=parked-events&source=3&after=cus_Parked000500',
  },
  { name: '… payment due', path: '/attention?issue=payment-due' },
  { name: '… double billed', path: '/attention?issue=double-billed' },
  { name: '… unknown order', path: '/attention?issue=unknown-order' },
  { name: '… unreadable', path: '/attention?issue=unreadable-event' },
  {
    name: '… unreadable, in the middle',
    path: `/attention?issue=unreadable-event&source=4&after=${Math.floor(Number(newest) / 2)}`,
  },
  { name: '… as a file', path: '/attention?format=csv', isFile: true },
  { name: '… parked, as a file', path: '/attention?issue=parked-events&format=json', isFile: true },
  { name: 'what operators did', path: '/actions' },
  { name: '… half a year ago', path: `/actions?before=${(Date.now() - 182 * 86_400_000) * 1_000}` },
  { name: '… as a file', path: '/actions?format=csv', isFile: true },
];
