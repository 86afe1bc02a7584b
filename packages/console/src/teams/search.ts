import {
  type EventRow,
  findCustomers,
  findEvents,
  findIssues,
  findTeams,
  type OperateContext,
  readWaitingCustomers,
  searchedText,
  type WaitingCustomer,
} from 'instep-operate';
import { eventsOf, eventUrl, teamUrl } from '../links.tsx';
import { urlWith } from '../query-parameters.ts';

export const MAX_EVENTS = 20;

/** A customer that no team has, with its newest events. */
export type TeamlessCustomer = {
  readonly customerId: string;
  readonly waiting: WaitingCustomer | undefined;
  readonly events: readonly EventRow[];
};

/** The customers without a team that have this id, or the subscription with this id. */
export async function findTeamless(
  context: OperateContext,
  text: string,
  asksStripe = false,
): Promise<TeamlessCustomer[]> {
  if (!/^(sub|cus)_/.test(text)) return [];
  const { customerIds, teams } = await findCustomers(context, text);
  const linked = new Set(teams.map(({ customerId }) => customerId));
  const customers = await Promise.all(
    customerIds.map(async (customerId) => {
      if (linked.has(customerId)) return [];
      const { rows: events } = await findEvents(context, { customerId }).page({
        limit: MAX_EVENTS,
      });
      const waiting = await readWaiting(context, customerId, asksStripe);
      return events.length === 0 ? [] : [{ customerId, waiting, events }];
    }),
  );
  return customers.flat();
}

/** What is known of whose a customer without a team is. */
export async function readWaiting(
  context: OperateContext,
  customerId: string,
  asksStripe: boolean,
): Promise<WaitingCustomer | undefined> {
  const { rows } = await findIssues(context, { customerId }).page();
  return (await readWaitingCustomers(context, rows, { asksStripe }))[0];
}

/** The page that a search opens: that of the only hit, or a list. */
export async function urlFound(context: OperateContext, entered: string): Promise<string> {
  const text = searchedText(entered);
  if (text === '') return '/teams';
  if (text.startsWith('evt_')) return await eventFound(context, text);
  const { rows: teams, searchedTo } = await findTeams(context, { text }).page();
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

/** The only event with this id; otherwise the list of events, which continues a long search. */
async function eventFound(context: OperateContext, eventId: string): Promise<string> {
  const [event, ...others] = (await findEvents(context, { eventId }).page({ limit: 2 })).rows;
  const isOnly = event !== undefined && others.length === 0;
  return isOnly ? eventUrl(event.position) : urlWith('/events', { search: eventId });
}
