import { Hono } from 'hono';
import {
  type EventFilter,
  type EventRow,
  findCustomers,
  findEvents,
  findTeams,
  InstepError,
  type NamedTeam,
  type OperateContext,
} from 'instep-operate';
import { Notice, Panel } from '../components/panels.tsx';
import { UntrustedText } from '../components/text.tsx';
import { EventTable } from '../events/event-table.tsx';
import { eventUrl, filterUrl } from '../links/event-links.tsx';
import { LinkCustomerForm } from '../links/issue-links.tsx';
import { teamUrl } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { queryText } from '../query-parameters.ts';
import { teamsUrl } from '../teams/team-filter.ts';
import { TeamTable } from '../teams/team-table.tsx';

const MAX_TEAMS = 50;
const MAX_CUSTOMERS = 5;
const MAX_EVENTS = 20;

type TeamlessCustomer = { readonly customerId: string; readonly events: readonly EventRow[] };

const PEOPLE_UNKNOWN = {
  MEMBERS_UNKNOWN: (
    <>
      Instep does not know which people belong to which team. Declare the table that says so as{' '}
      <code>members</code> in <code>INSTEP_TABLES</code>.
    </>
  ),
  PROFILE_OFF: (
    <>
      Instep reads no table of people, because <code>PROFILE</code> is off.
    </>
  ),
};

/** Either the address of the only result, or all possible results. */
type Found =
  | { readonly url: string }
  | {
      readonly teams: readonly NamedTeam[];
      readonly customers: readonly TeamlessCustomer[];
      /** Why nobody could be looked up. */
      readonly peopleUnknown?: keyof typeof PEOPLE_UNKNOWN;
    };

/**
 * `GET /search`: finds people, events, customers, subscriptions and teams. An exact hit, or the only one, opens at once.
 */
export function searchPage(operateContext: OperateContext): Hono {
  return new Hono().get('/', async ({ req, render, redirect }) => {
    const text = queryText(req.query('q'));
    if (text === '') return redirect('/teams', 303);
    const found = await search(operateContext, text);
    if ('url' in found) return redirect(found.url, 303);
    return render(<SearchPage text={text} {...found} />);
  });
}

/** An id in an address of Stripe's dashboard. */
const ID_IN_URL = /^https:\/\/dashboard\.stripe\.com\/\S*\b((?:cus|sub|evt)_\w+)/;

async function search(context: OperateContext, entered: string): Promise<Found> {
  const text = ID_IN_URL.exec(entered)?.[1] ?? entered;
  if (!text.includes('@')) return await searchText(context, text);
  try {
    const { teams } = await findTeams(context, { email: text }).page({ limit: MAX_TEAMS });
    if (teams.length > 0) return openOnly({ teams, customers: [] }, teams);
    return await searchText(context, text);
  } catch (error) {
    const code = error instanceof InstepError ? error.code : null;
    if (code !== 'MEMBERS_UNKNOWN' && code !== 'PROFILE_OFF') throw error;
    const found = await searchText(context, text);
    return 'url' in found ? found : { ...found, peopleUnknown: code };
  }
}

async function searchText(context: OperateContext, text: string): Promise<Found> {
  if (text.startsWith('evt_')) return { url: await findEvent(context, text) };
  const { teams, customerIds } = await findCustomers(context, text, MAX_TEAMS);
  const isSubscription = text.startsWith('sub_');
  const parkedIds = isSubscription ? await findParked(context, { subscriptionId: text }) : [];
  const all = await readTeamless(context, [...customerIds, ...parkedIds], teams);
  const customers = all.filter(({ events }) => events.length > 0);
  if (teams.length + customers.length > 0) return openOnly({ teams, customers }, teams);
  // Its events may have had no effect so far, and no index covers them.
  if (isSubscription) return { url: filterUrl('/events', { subscription: text }) };
  const page = await findTeams(context, { text }).page({ limit: MAX_TEAMS });
  const exact = page.teams.filter(
    ({ id, name }) => String(id) === text || name?.toLowerCase() === text.toLowerCase(),
  );
  // The list of teams continues a search that ran out of time.
  if (exact.length === 0 && page.searchedTo !== null) return { url: teamsUrl({ search: text }) };
  const isCustomer = text.startsWith('cus_');
  const begun = isCustomer ? await findParked(context, { customerIdPrefix: text }) : [];
  const waiting = await readTeamless(context, begun, page.teams);
  return openOnly({ teams: page.teams, customers: waiting }, exact.length > 0 ? exact : page.teams);
}

/** The customers of parked events. A subscription with only parked events is found only in the log. */
async function findParked(context: OperateContext, filter: EventFilter): Promise<string[]> {
  const parked = findEvents(context, { ...filter, outcome: 'parked' });
  const { events } = await parked.page({ limit: MAX_EVENTS });
  return events.flatMap(({ customerId }) => customerId ?? []);
}

/** Opens the team if it is the only hit. */
function openOnly(found: Exclude<Found, { url: string }>, hits: readonly NamedTeam[]): Found {
  const [team, ...others] = hits;
  const isOnly = team !== undefined && others.length === 0 && found.customers.length === 0;
  return isOnly ? { url: teamUrl(team.id) } : found;
}

/** The only event whose id begins like this; otherwise the list of events, which continues a long search. */
async function findEvent(context: OperateContext, eventId: string): Promise<string> {
  const found = findEvents(context, { eventIdPrefix: eventId });
  const { events, searchedTo } = await found.page({ limit: 2 });
  const [event, ...others] = events;
  const isWhole = event?.eventId === eventId || searchedTo === null;
  const isOnly = event !== undefined && others.length === 0 && isWhole;
  return isOnly ? eventUrl(event.position) : filterUrl('/events', { event: eventId });
}

/** The customers without a team, and their events. */
async function readTeamless(
  context: OperateContext,
  customerIds: readonly string[],
  teams: readonly NamedTeam[],
): Promise<TeamlessCustomer[]> {
  const linked = new Set(teams.map(({ customerId }) => customerId));
  const ids = [...new Set(customerIds)].filter((id) => !linked.has(id));
  const teamless = ids.slice(0, MAX_CUSTOMERS);
  return await Promise.all(
    teamless.map(async (customerId) => {
      const { events } = await findEvents(context, { customerId }).page({ limit: MAX_EVENTS });
      return { customerId, events };
    }),
  );
}

type SearchPageProps = Exclude<Found, { url: string }> & { readonly text: string };

function SearchPage({ text, teams, customers, peopleUnknown }: SearchPageProps) {
  const isEmpty = teams.length + customers.length === 0;
  return (
    <Page
      title={`Search: ${text}`}
      heading={
        <>
          Search: <UntrustedText text={text} maxLength={80} />
        </>
      }
      area={null}
      search={text}
    >
      {teams.length > 0 && <TeamTable teams={teams} />}
      {teams.length === MAX_TEAMS && (
        <p>
          <a href={teamsUrl({ search: text })}>All teams with this name</a>
        </p>
      )}
      {customers.map((customer, index) => (
        <CustomerPanel {...customer} id={`customer-${index}`} />
      ))}
      {isEmpty && peopleUnknown !== undefined && (
        <Notice kind="empty" title="Nobody could be looked up">
          {PEOPLE_UNKNOWN[peopleUnknown]}
        </Notice>
      )}
      {isEmpty && peopleUnknown === undefined && (
        <Notice kind="empty" title="Nothing found">
          Enter the email address of a person, part of a team's name, the id of an event (evt_…),
          customer (cus_…), subscription (sub_…) or team, or an address of Stripe's dashboard.{' '}
          <a href={filterUrl('/events', { event: text })}>Search event ids</a>
        </Notice>
      )}
    </Page>
  );
}

function CustomerPanel({ customerId, events, id }: TeamlessCustomer & { readonly id: string }) {
  const parked = events.filter(({ outcome }) => outcome === 'parked').length;
  return (
    <Panel title="Customer without a team" id={id}>
      <p class="lead">
        No team is linked to customer <UntrustedText text={customerId} maxLength={100} />.
        {parked > 0 && ' Its events wait for a team, and are applied once one is linked.'}
      </p>
      <LinkCustomerForm customerId={customerId} />
      {events.length > 0 && <EventTable events={events} />}
      {events.length === MAX_EVENTS && (
        <p>
          <a href={filterUrl('/events', { customer: customerId })}>All events of this customer</a>
        </p>
      )}
    </Panel>
  );
}
