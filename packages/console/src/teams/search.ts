import {
  type EventFilter,
  type EventRow,
  findCustomers,
  findEvents,
  findTeams,
  type OperateContext,
  searchedText,
} from 'instep-operate';
import { eventsOf, eventUrl, teamUrl } from '../links.tsx';
import { urlWith } from '../query-parameters.ts';

const MAX_CUSTOMERS = 5;
export const MAX_EVENTS = 20;

/** A customer that no team has, with its newest events. */
export type TeamlessCustomer = {
  readonly customerId: string;
  readonly events: readonly EventRow[];
};

/** The customers without a team that a text is the id of, or the beginning of one. A subscription stands for its customer. */
export async function findTeamless(
  context: OperateContext,
  text: string,
): Promise<TeamlessCustomer[]> {
  const isSubscription = text.startsWith('sub_');
  if (!isSubscription && !text.startsWith('cus_')) return [];
  // A subscription with only parked events is found only in the log.
  const parked: EventFilter = isSubscription
    ? { subscriptionId: text, outcome: 'parked' }
    : { customerIdPrefix: text, outcome: 'parked' };
  const { events } = await findEvents(context, parked).page({ limit: MAX_EVENTS });
  const { customerIds } = await findCustomers(context, text);
  const ids = new Set([...customerIds, ...events.flatMap(({ customerId }) => customerId ?? [])]);
  const customers = await Promise.all(
    [...ids].slice(0, MAX_CUSTOMERS).map(async (customerId) => {
      const { teams } = await findCustomers(context, customerId);
      if (teams.length > 0) return [];
      const newest = await findEvents(context, { customerId }).page({ limit: MAX_EVENTS });
      return newest.events.length > 0 ? [{ customerId, events: newest.events }] : [];
    }),
  );
  return customers.flat();
}

/** The page that a search opens: that of the only hit, or a list. */
export async function urlFound(context: OperateContext, entered: string): Promise<string> {
  const text = searchedText(entered);
  if (text === '') return '/teams';
  if (text.startsWith('evt_')) return await eventFound(context, text);
  const { teams, searchedTo } = await findTeams(context, { text }).page();
  const exact = teams.filter(
    ({ id, name }) => String(id) === text || name?.toLowerCase() === text.toLowerCase(),
  );
  const [only, ...others] = exact.length > 0 ? exact : teams;
  // The list of teams continues a search that ran out of time.
  const isWhole = exact.length > 0 || searchedTo === null;
  const customers = await findTeamless(context, text);
  if (only !== undefined && others.length === 0 && isWhole && customers.length === 0) {
    return teamUrl(only.id);
  }
  // The events of a subscription may have had no effect so far.
  const isOnlyInLog = text.startsWith('sub_') && teams.length + customers.length === 0;
  return isOnlyInLog ? eventsOf('subscription', text) : urlWith('/teams', { search: text });
}

/** The only event whose id begins like this; otherwise the list of events, which continues a long search. */
async function eventFound(context: OperateContext, eventId: string): Promise<string> {
  const found = findEvents(context, { eventIdPrefix: eventId });
  const { events, searchedTo } = await found.page({ limit: 2 });
  const [event, ...others] = events;
  const isWhole = event?.eventId === eventId || searchedTo === null;
  const isOnly = event !== undefined && others.length === 0 && isWhole;
  return isOnly ? eventUrl(event.position) : urlWith('/events', { search: eventId });
}
