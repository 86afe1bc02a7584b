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

/** The ends of the log, and its last parked and unreadable events. */
type Row = {
  readonly oldest: string;
  readonly newest: string;
  readonly parked: string;
  readonly unreadable: string;
};

/** Every kind of page over a long log, with rare matches and distant pages. */
export async function consolePages(ask: Ask, teams: number): Promise<ConsolePage[]> {
  const [row] = await ask<Row>(
    `select (select min(position) from instep.events) as oldest,
            (select max(position) from instep.events) as newest,
            (select max(position) from instep.events where outcome = 'parked') as parked,
            (select max(position) from instep.events where outcome = 'unreadable') as unreadable`,
  );
  if (row === undefined) throw new RangeError('a statement without a table has one row');
  return [
    { name: 'overview, last hour', path: '/' },
    { name: '… day', path: '/?range=day' },
    { name: '… week', path: '/?range=week' },
    { name: 'attention', path: '/attention' },
    { name: '… out of sync', path: '/attention?issue=out-of-sync' },
    { name: '… parked', path: '/attention?issue=parked-events' },
    { name: '… payment due', path: '/attention?issue=payment-due' },
    { name: '… charged twice', path: '/attention?issue=charged-twice' },
    { name: '… unreadable', path: '/attention?issue=unreadable-event' },
    { name: '… as a file', path: '/attention?format=csv', isFile: true },
    { name: 'what operators did', path: '/actions' },
    ...teamLists(teams),
    ...teamPages(row, teams),
    ...eventLists(row, teams),
    { name: 'an event', path: `/events/${row.newest}` },
    { name: '… of a team with 10,000 events', path: `/events/${Number(row.newest) - 500}` },
    { name: '… parked', path: `/events/${row.parked}` },
    { name: '… unreadable', path: `/events/${row.unreadable}` },
    ...searches(row, teams),
    { name: 'reconcile', path: '/reconcile' },
  ];
}

const subscriptionOf = (team: number) => `sub_1Bench${String(team).padStart(18, '0')}`;
const eventId = (number: number) => `evt_1Bench${String(number).padStart(18, '0')}`;

function teamLists(teams: number): ConsolePage[] {
  const middle = Math.floor(teams / 2);
  return [
    { name: 'teams', path: '/teams' },
    { name: '… in the middle', path: `/teams?after=${middle}` },
    { name: '… before the middle', path: `/teams?before=${middle}` },
    { name: '… of a status', path: '/teams?status=unpaid' },
    { name: '… of an absent status', path: '/teams?status=incomplete' },
    { name: '… of a lost plan', path: '/teams?status=unpaid&plan=Pro' },
    { name: '… of an unknown plan', path: '/teams?plan=unknown' },
    { name: '… out of sync', path: '/teams?issue=out-of-sync' },
    { name: '… with parked events', path: '/teams?issue=parked-events' },
    { name: '… by a common name', path: '/teams?search=Team+7' },
    { name: '… by an unknown name', path: '/teams?search=unknown' },
    { name: '… by all filters', path: `/teams?${ALL_FILTERS}` },
    { name: '… as a file', path: '/teams?format=csv', isFile: true },
  ];
}

function teamPages({ newest }: Row, teams: number): ConsolePage[] {
  const older = `/teams/${BUSY_TEAM}?before=${Math.floor(Number(newest) / 2)}`;
  return [
    { name: 'a team', path: `/teams/${teams}` },
    { name: '… with a lost plan', path: '/teams/20' },
    { name: '… with an unknown customer', path: `/teams/${teams - (teams % 3)}` },
    { name: '… with 10,000 events', path: `/teams/${BUSY_TEAM}` },
    { name: '… older ones', path: older },
  ];
}

function eventLists({ newest, oldest }: Row, teams: number): ConsolePage[] {
  const middle = Math.floor(Number(newest) / 2);
  return [
    { name: 'events', path: '/events' },
    { name: '… in the middle', path: `/events?after=${middle}` },
    { name: '… after the middle', path: `/events?before=${middle}` },
    { name: '… of a customer', path: `/events?customer=cus_Bench${count(teams)}` },
    { name: '… of a customer with 10,000 events', path: `/events?team=${BUSY_TEAM}` },
    {
      name: '… unreadable, of this customer',
      path: `/events?team=${BUSY_TEAM}&outcome=unreadable`,
    },
    { name: '… of a rare type', path: `/events?type=${DELETED}` },
    { name: '… parked', path: '/events?outcome=parked' },
    { name: '… unreadable', path: '/events?outcome=unreadable' },
    { name: '… of 10 minutes, days ago', path: '/events?from=5000m&until=4990m' },
    { name: '… of a subscription', path: `/events?subscription=${subscriptionOf(teams)}` },
    { name: '… with an id', path: `/events?event=${eventId(Number(oldest))}` },
    { name: '… with an unknown id', path: '/events?event=evt_unknown' },
    { name: '… as a file', path: '/events?format=csv', isFile: true },
  ];
}

function searches({ oldest, newest }: Row, teams: number): ConsolePage[] {
  return [
    { name: 'search for a team', path: `/search?q=${teams}` },
    { name: '… by a common name', path: '/search?q=Team+7' },
    { name: '… for a customer', path: `/search?q=cus_Bench${count(teams)}` },
    { name: '… for a customer without a team', path: `/search?q=${PARKED_CUSTOMER}` },
    { name: '… for a subscription', path: `/search?q=${subscriptionOf(teams)}` },
    { name: '… for the newest event', path: `/search?q=${eventId(Number(newest) - 1)}` },
    { name: '… for an old event', path: `/search?q=${eventId(Number(oldest))}` },
    { name: '… for an unknown event', path: '/search?q=evt_unknown' },
  ];
}

const DELETED = 'customer.subscription.deleted';
/** No team matches all of them. */
const ALL_FILTERS = 'search=Team&status=unpaid&plan=Pro&issue=parked-events';
const PARKED_CUSTOMER = `cus_Parked${count(13)}`;
