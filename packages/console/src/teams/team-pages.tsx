import { Hono } from 'hono';
import {
  type ApplicationId,
  findTeams,
  type NamedTeam,
  type OperateContext,
  STATUSES,
  TEAM_ISSUES,
} from 'instep-operate';
import { LinkCustomerForm } from '../actions/action-form.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { Field, Select } from '../components/form.tsx';
import { List, readStart } from '../components/list.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { CodeText, UntrustedText } from '../components/text.tsx';
import { EventTable } from '../events/event-table.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { eventsOf } from '../links/event-links.tsx';
import { ISSUE_NAMES } from '../links/issue-links.ts';
import { NO_TEAM_FILTER, type TeamFields, teamsUrl } from '../links/subject-links.tsx';
import { Page } from '../page.tsx';
import { queryText, readFields } from '../query-parameters.ts';
import {
  filterOf,
  findPage,
  findTeamless,
  MAX_EVENTS,
  type PeopleUnknown,
  searchedText,
  type TeamlessCustomer,
} from './search.ts';
import { teamPage } from './team-page.tsx';
import { TeamTable } from './team-table.tsx';

const LIMIT = 50;

/** `/teams`: the list of teams, with filters and a search; and each team's page. */
export function teamPages(options: OperateContext): Hono {
  const app = new Hono();
  app.get('/', async (context) => {
    const { req, render } = context;
    const start = readStart<ApplicationId>((name) => queryText(req.query(name)) || null);
    const fields = readFields(NO_TEAM_FILTER, (name) => req.query(name));
    const text = searchedText(fields.search);
    const filter = {
      ...filterOf(text),
      status: fields.status || undefined,
      plan: fields.plan || undefined,
      // An unknown issue filters nothing.
      issue: TEAM_ISSUES.find((code) => code === fields.issue),
    };
    const found = await findPage(options, filter, { start, limit: LIMIT });
    const { page, peopleUnknown } = found;
    const file = exportList(context, options, {
      name: 'teams',
      columns: EXPORTED,
      rows: (reading) => findTeams(reading, found.filter).all(),
    });
    if (file !== null) return file;
    const customers = start === null ? await findTeamless(options, text) : [];
    return render(
      <Page title="Teams" area="Teams">
        <TeamFilters fields={fields} />
        {customers.map((customer, index) => (
          <CustomerPanel {...customer} index={index} back={teamsUrl(fields)} />
        ))}
        <List
          {...{ ...page, start }}
          isEmpty={page.teams.length === 0}
          urlOf={(from) => teamsUrl(fields, from)}
          first="First"
          empty={customers.length === 0 && <NoTeams {...{ fields, start, peopleUnknown }} />}
          searched={`Searched all teams up to id ${page.searchedTo}. There may be more.`}
        >
          <TeamTable teams={page.teams} fields={fields} />
        </List>
      </Page>,
    );
  });
  return app.route('/', teamPage(options));
}

const STATUS_LABELS: Readonly<Record<string, string>> = {
  none: 'no subscription',
  other: 'another status',
};

function TeamFilters({ fields }: { readonly fields: TeamFields }) {
  const { search, status, plan, issue } = fields;
  return (
    <FilterForm label="Teams" path="/teams" fields={fields}>
      <Field
        label="Name, id, email address, customer or subscription"
        name="search"
        type="search"
        value={search}
        maxlength={300}
      />
      <Select
        label="Status"
        name="status"
        any="any status"
        options={[...Object.keys(STATUSES), ...Object.keys(STATUS_LABELS)]}
        textOf={(option) => STATUS_LABELS[option] ?? option}
        value={status}
      />
      <Field label="Plan" name="plan" type="search" value={plan} />
      <Select
        label="Issue"
        name="issue"
        any="any or none"
        options={TEAM_ISSUES}
        textOf={(option) => ISSUE_NAMES[option]}
        value={issue}
      />
    </FilterForm>
  );
}

type CustomerPanelProps = TeamlessCustomer & { readonly index: number; readonly back: string };

function CustomerPanel({ customerId, events, index, back }: CustomerPanelProps) {
  const isWaiting = events.some(({ outcome }) => outcome === 'parked');
  return (
    <Panel title="Customer without a team" id={`customer-${index}`}>
      <p class="lead">
        No team is linked to customer <UntrustedText text={customerId} maxLength={100} />.
        {isWaiting && ' Its events wait for a team, and are applied once one is linked.'}
      </p>
      <LinkCustomerForm {...{ customerId, back }} />
      <EventTable events={events} />
      {events.length === MAX_EVENTS && (
        <p>
          <a href={eventsOf('customer', customerId)}>All events of this customer</a>
        </p>
      )}
    </Panel>
  );
}

type NoTeamsProps = {
  readonly fields: TeamFields;
  readonly start: unknown;
  readonly peopleUnknown: PeopleUnknown | null;
};

function NoTeams({ fields, start, peopleUnknown }: NoTeamsProps) {
  const isFiltered = Object.values(fields).some((value) => value !== '');
  if (!isFiltered && start === null) {
    return (
      <Notice kind="empty" title="No teams yet">
        Your app adds them to the table teams. To try it, run{' '}
        <code>npx instep team add --name Acme</code>.
      </Notice>
    );
  }
  if (peopleUnknown !== null) {
    return (
      <Notice kind="empty" title="Nobody could be looked up">
        <CodeText>{PEOPLE_UNKNOWN[peopleUnknown]}</CodeText>
      </Notice>
    );
  }
  return (
    <Notice kind="empty" title={start === null ? 'No team found' : 'No more teams found'}>
      {fields.search === ''
        ? 'No team matches these filters.'
        : 'Enter part of a name, a team id, the email address of a person, the id of an event (evt_…), customer (cus_…) or subscription (sub_…), or an address of Stripe’s dashboard.'}{' '}
      <a href="/teams">Show all teams</a>
    </Notice>
  );
}

const PEOPLE_UNKNOWN: Readonly<Record<PeopleUnknown, string>> = {
  MEMBERS_UNKNOWN:
    'Instep does not know which people belong to which team. Declare the table that says so as `members` in `INSTEP_TABLES`.',
  PROFILE_OFF: 'Instep reads no table of people, because `PROFILE` is off.',
};

const EXPORTED: Columns<NamedTeam> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  status: ({ plan }) => plan.subscriptionStatus ?? null,
  plan: ({ plan }) => plan.planName ?? null,
  product: ({ plan }) => plan.providerProductId ?? null,
  subscription: ({ plan }) => plan.providerSubscriptionId ?? null,
  customer: ({ customerId }) => customerId,
  lost_plan: ({ lostPlan }) => lostPlan?.planName ?? null,
  lost_product: ({ lostPlan }) => lostPlan?.productId ?? null,
  due_since: ({ dueSinceMs }) => exportedTime(dueSinceMs),
};
