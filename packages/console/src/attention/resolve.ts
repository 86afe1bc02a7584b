import {
  counted,
  dismissParkedEvents,
  InstepError,
  type ParkedFilter,
  readCustomerIdsOf,
  readCustomers,
  readNamedTeam,
  takeSnapshot,
} from 'instep/operate/inside';
import { capitalized } from '../components/text.tsx';
import { compareTeam } from '../teams/compare-team.ts';
import {
  type ActionRequest,
  type ActionResult,
  type ActionServices,
  done,
  failed,
} from './action.ts';
import { linkCustomer, linkTeamTo } from './link.ts';
import { replayEvent, replayParked } from './replay.ts';
import { parseSubject } from './subject.ts';

/** Shorter than the deadline of the request. */
const DEADLINE_MS = 8_000;

/**
 * Performs the action; `null` when it does not apply to the subject. An error becomes the row's result, so
 * that the other rows are still processed.
 */
export async function resolve(
  { action, subject, linkTo = '' }: ActionRequest,
  services: ActionServices,
): Promise<ActionResult | null> {
  const { kind, id } = parseSubject(subject) ?? { kind: 'unknown', id: '' };
  try {
    switch (`${action} ${kind}`) {
      case 'link customer':
        return await linkCustomer(id, linkTo, services);
      case 'link team':
        return await linkTeamTo(id, linkTo, services);
      case 'replay customer':
        return await replayParked(id, services);
      case 'replay event':
        return await replayEvent(Number(id), services);
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
        return null;
    }
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    services.logger.warn({ err: error, action, subject }, 'action failed');
    return failed(`${capitalized(error.message)}.`);
  }
}

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
    return failed(`Stripe does not know customer ${finding.customerId}. Link the right customer.`);
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
  switch (await takeSnapshot(ambiguous, options, signal)) {
    case 'answered':
      return done('Stripe has shown which event came last.');
    case 'too early':
      return failed("By Stripe's clock, the second of these events is not over. Try again later.");
    case 'unknown':
      return failed(
        'Stripe does not know the subscription. The team follows the event that arrived last.',
      );
  }
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
