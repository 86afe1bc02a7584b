import { dismissParkedEvents } from '../../../event-log/dismiss.ts';
import { type Replayed, replayEvents } from '../../../event-log/replay.ts';
import { readEventAt } from '../../../event-log/search.ts';
import { fillEmptyTeams } from '../../../ingest/fill-empty-teams.ts';
import { takeSnapshot } from '../../../maintenance/ambiguous-order.ts';
import type { ReconcileServices } from '../../../maintenance/reconcile/options.ts';
import { DatabaseRefused } from '../../../postgres/errors.ts';
import { type NamedTeam, readNamedTeam } from '../../../queries/named-teams.ts';
import type { ParkedFilter } from '../../../queries/parked-events.ts';
import { readEvents } from '../../../queries/search-events.ts';
import { readCustomerIdsOf, readCustomers } from '../../../queries/subscriptions.ts';
import { linkTeam } from '../../../queries/teams.ts';
import { InstepError } from '../../../runtime/errors.ts';
import type { StripeApi } from '../../../stripe/api.ts';
import { counted } from '../../count-text.ts';
import { plainText } from '../components/text.tsx';
import { compareTeam } from '../teams/compare-team.ts';
import { findTeams, teamName } from '../teams/find-teams.ts';
import { parseSubject } from './subject.ts';

/** What an operator can do about an issue. */
export const ACTIONS = ['link', 'replay', 'compare', 'repair', 'dismiss'] as const;
export type Action = (typeof ACTIONS)[number];

export type ActionServices = ReconcileServices & {
  readonly api: Pick<StripeApi, 'retrieveSubscription'>;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
};

/** The result of an action, in a sentence. */
export type ActionResult = { readonly isDone: boolean; readonly result: string };

export type ActionRequest = {
  readonly action: Action;
  /** Such as `customer:cus_1`. */
  readonly subject: string;
  /** The id or the name of the team to link. */
  readonly team?: string;
};

const done = (result: string): ActionResult => ({ isDone: true, result });
const failed = (result: string): ActionResult => ({ isDone: false, result });

/** Shorter than the deadline of the request. */
const DEADLINE_MS = 8_000;

/**
 * The maximum number of a customer's parked events that are replayed at once. A running server replays the
 * others.
 */
const MAX_REPLAYED = 200;

/** Performs the action. An error becomes the row's result, so that the other rows are still processed. */
export async function resolve(
  { action, subject, team = '' }: ActionRequest,
  services: ActionServices,
): Promise<ActionResult> {
  const { kind, id } = parseSubject(subject) ?? { kind: 'unknown', id: '' };
  try {
    switch (`${action} ${kind}`) {
      case 'link customer':
        return await link(id, team, services);
      case 'replay customer':
        return replayedText(await replayParked(id, services));
      case 'replay event':
        return await replayOne(Number(id), services);
      case 'compare team':
      case 'repair team':
        return await compare(id, action === 'compare', services);
      case 'compare subscription':
        return await askForOrder(id, services);
      case 'dismiss customer':
        return await dismissParked({ customerId: id }, services);
      case 'dismiss event':
        return await dismissParked({ position: Number(id) }, services);
      case 'dismiss team':
      case 'dismiss subscription':
        return done('Hidden until it changes.');
      default:
        return failed('This action does not apply to this row.');
    }
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    services.logger.warn({ err: error, action, subject }, 'action failed');
    return failed(`${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`);
  }
}

async function link(
  customerId: string,
  text: string,
  services: ActionServices,
): Promise<ActionResult> {
  const { database, planSelection } = services;
  const found = await findTeam(text, services);
  if (typeof found === 'string') return failed(found);
  const name = plainText(teamName(found));
  try {
    if (!(await linkTeam(database.query, found.id, customerId, { canReplace: false }))) {
      return failed(`${name} has another customer already. Nothing was changed.`);
    }
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error;
    return failed(`The database refused to link ${name}. The customer may have another team.`);
  }
  await fillEmptyTeams(database, planSelection, [customerId]);
  const { isDone, result } = replayedText(await replayParked(customerId, services));
  return { isDone, result: `Linked to ${name} (team ${found.id}). ${result}` };
}

/** The largest number of teams among which the one with exactly this name is looked for. */
const MAX_CANDIDATES = 100;

/**
 * The team with this id, the only one with exactly this name, or the only one whose name contains the text;
 * otherwise what is wrong with the text.
 */
async function findTeam(
  text: string,
  { database: { query }, clockMs }: ActionServices,
): Promise<NamedTeam | string> {
  if (text === '') return 'Enter the id or the name of the team to link.';
  const byId = await readNamedTeam(query, text);
  if (byId !== null) return byId;
  const order = { sort: 'id', isDescending: false } as const;
  const request = { filter: { text }, order, start: null, limit: MAX_CANDIDATES, clockMs };
  const { teams, after, searchedTo } = await findTeams(query, request);
  if (teams.length === 0 && searchedTo === null) return `There is no team ${text}.`;
  const exact = teams.filter(({ name }) => name === text);
  const [only, other] = exact.length > 0 ? exact : teams;
  const isOnly = only !== undefined && other === undefined && after === null;
  return isOnly ? only : `Several teams match ${text}. Enter the team's id.`;
}

async function replayParked(
  customerId: string,
  { database: { query }, ingest }: ActionServices,
): Promise<Replayed[]> {
  const filter = { customerId, outcome: 'parked' } as const;
  const range = { after: 0, upTo: Number.MAX_SAFE_INTEGER };
  const first = { order: 'oldest first', limit: MAX_REPLAYED } as const;
  const events = await readEvents(query, filter, range, first);
  const replayed: Replayed[] = [];
  for await (const one of replayEvents(events, { ingest, query })) replayed.push(one);
  return replayed;
}

function replayedText(replayed: readonly Replayed[]): ActionResult {
  if (replayed.length === 0) return done('No event was parked.');
  const counts = new Map<string, number>();
  for (const { outcome } of replayed) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const outcomes = [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
  const isDone = !replayed.some(({ outcome }) => UNRESOLVED.has(outcome));
  return { isDone, result: `${counted(replayed.length, 'event')} replayed: ${outcomes}.` };
}

async function replayOne(
  position: number,
  { database: { query }, ingest }: ActionServices,
): Promise<ActionResult> {
  const event = await readEventAt(query, position);
  if (event === null) return failed('The event is no longer in the log.');
  for await (const { outcome } of replayEvents([event], { ingest, query })) {
    const isDone = !UNRESOLVED.has(outcome);
    return { isDone, result: REPLAY_TEXTS[outcome] };
  }
  throw new RangeError('an event has one result');
}

/** A replay with this outcome has changed nothing that needs attention. */
const UNRESOLVED: ReadonlySet<Replayed['outcome']> = new Set(['parked', 'unreadable', 'failed']);

/** The result of a replayed event. */
const REPLAY_TEXTS: Readonly<Record<Replayed['outcome'], string>> = {
  applied: 'The event is now applied.',
  stale: 'The event is now stale: a newer one was already applied, so it has no effect.',
  unchanged: 'The event is now decided and has no effect.',
  parked: 'The event is still parked: no team has its customer.',
  unreadable: 'This version of Instep cannot read the event either. Nothing was changed.',
  duplicate: 'The event was already decided. Nothing was changed.',
  'left out': "This is a snapshot of Stripe's data at that time. Nothing was changed.",
  failed: 'The database refused the event. Nothing was changed. The server log has the reason.',
};

async function compare(
  teamId: string,
  isDryRun: boolean,
  services: ActionServices,
): Promise<ActionResult> {
  const team = await readNamedTeam(services.database.query, teamId);
  if (team === null) return failed('The team no longer exists.');
  const comparison = await compareTeam(team, services, { isDryRun });
  if (comparison.kind === 'failed') return failed(`${comparison.reason}. Nothing was changed.`);
  const { finding } = comparison;
  if (finding?.kind === 'unknown customer') {
    return failed(`Stripe does not know customer ${finding.customerId}.`);
  }
  if (finding?.kind !== 'drift') return done('The team is in sync with Stripe.');
  if (isDryRun) return done('The team is out of sync with Stripe. Repair it.');
  return finding.isRepaired
    ? done('The team was repaired.')
    : failed('The database refused the repair. The server log has the reason.');
}

async function askForOrder(
  subscriptionId: string,
  services: ActionServices,
): Promise<ActionResult> {
  const { query } = services.database;
  const { retrieveSubscription } = services.api;
  const customerIds = await readCustomerIdsOf(query, subscriptionId, 1);
  const { customers } = await readCustomers(query, customerIds);
  const state = customers.get(customerIds[0] ?? '')?.get(subscriptionId);
  if (state?.order !== 'ambiguous') return done('The order is known.');
  const { createdSeconds } = state.newest;
  const ambiguous = { subscriptionId, createdSeconds };
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const options = { ...services, query, retrieveSubscription };
  const answer = await takeSnapshot(ambiguous, options, signal);
  if (answer === 'answered') return done('Stripe has shown which event came last.');
  return failed('Stripe does not know the subscription. The later arrival counts.');
}

/** Dismisses parked events. Other events are only hidden from the list. */
async function dismissParked(
  filter: ParkedFilter,
  { database: { query } }: ActionServices,
): Promise<ActionResult> {
  const dismissed = await dismissParkedEvents(query, filter, AbortSignal.timeout(DEADLINE_MS));
  if (dismissed === 0) return done('Hidden until it changes.');
  return done(`${counted(dismissed, 'parked event')} dismissed.`);
}
