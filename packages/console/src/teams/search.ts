import {
  type ApplicationId,
  type EventFilter,
  type EventRow,
  findCustomers,
  findEvents,
  findTeams,
  InstepError,
  type NamedTeam,
  type OperateContext,
  type PageOfTeams,
  type PageStart,
  type TeamFilter,
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

/** Why nobody could be looked up by an email address. */
export type PeopleUnknown = 'MEMBERS_UNKNOWN' | 'PROFILE_OFF';

type FoundTeams = {
  readonly page: PageOfTeams;
  /** The filter that found them. */
  readonly filter: TeamFilter;
  readonly peopleUnknown: PeopleUnknown | null;
};

type TeamSearch = { readonly start: PageStart<ApplicationId> | null; readonly limit: number };

/** An id in an address of Stripe's dashboard. */
const ID_IN_URL = /^https:\/\/dashboard\.stripe\.com\/\S*\b((?:cus|sub|evt)_\w+)/;

/** What a text searches for: an id can come from Stripe's dashboard, or begin with `#`. */
export function searchedText(entered: string): string {
  return ID_IN_URL.exec(entered)?.[1] ?? entered.replace(/^#(?=\w)/, '');
}

/** The filter of teams for a text; people are found by their whole email address. */
export function filterOf(text: string): TeamFilter {
  if (text === '') return {};
  return text.includes('@') ? { email: text } : { text };
}

/** A page of the teams of a filter: by a text, if its email address can't be looked up. */
export async function findPage(
  context: OperateContext,
  filter: TeamFilter,
  request: TeamSearch,
): Promise<FoundTeams> {
  try {
    const page = await findTeams(context, filter).page(request);
    return { page, filter, peopleUnknown: null };
  } catch (error) {
    const code = error instanceof InstepError ? error.code : null;
    if (code !== 'MEMBERS_UNKNOWN' && code !== 'PROFILE_OFF') throw error;
    const { email: text, ...others } = filter;
    const byText = { ...others, text };
    const page = await findTeams(context, byText).page(request);
    return { page, filter: byText, peopleUnknown: code };
  }
}

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

/** The teams that a text can mean: if one has it as its id or whole name, only that one. */
export async function teamsMeant(context: OperateContext, text: string) {
  const { page } = await findPage(context, filterOf(text), { start: null, limit: 50 });
  const isExact = ({ id, name }: NamedTeam) =>
    String(id) === text || name?.toLowerCase() === text.toLowerCase();
  const exact = page.teams.filter(isExact);
  // The list of teams continues a search that ran out of time.
  return exact.length > 0
    ? { teams: exact, isWhole: true }
    : { teams: page.teams, isWhole: page.searchedTo === null };
}

/** The page that a search opens: that of the only hit, or a list. */
export async function urlFound(context: OperateContext, entered: string): Promise<string> {
  const text = searchedText(entered);
  if (text === '') return '/teams';
  if (text.startsWith('evt_')) return await eventFound(context, text);
  const { teams, isWhole } = await teamsMeant(context, text);
  const customers = await findTeamless(context, text);
  const [only] = teams;
  if (only !== undefined && teams.length === 1 && isWhole && customers.length === 0) {
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
