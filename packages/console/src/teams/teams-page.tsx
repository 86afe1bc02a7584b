import { Hono } from 'hono';
import {
  type ApplicationId,
  findTeams,
  type NamedTeam,
  type OperateContext,
  STATUSES,
  searchedText,
} from 'instep-operate';
import { LinkCustomerForm } from '../actions/action-form.tsx';
import { StatusBadge } from '../components/badges.tsx';
import { Field, Select } from '../components/form.tsx';
import { Id } from '../components/id.tsx';
import { FilterForm, isFiltered, List, readStart } from '../components/list.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { CodeText, UntrustedText } from '../components/text.tsx';
import { EventTable } from '../events/event-table.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { eventsOf, teamName, teamUrl } from '../links.tsx';
import { Page } from '../page.tsx';
import { queryText, readFields, urlWith } from '../query-parameters.ts';
import { type ConsoleEnv, canAct } from '../request-context.ts';
import { findTeamless, MAX_EVENTS, type TeamlessCustomer } from './search.ts';

const LIMIT = 50;

const NO_FILTER = { search: '', status: '', plan: '' };

type Fields = Readonly<typeof NO_FILTER>;

/** `/teams`: the list of teams, with filters and a search. */
export function teamsPage(options: OperateContext): Hono<ConsoleEnv> {
  return new Hono<ConsoleEnv>().get('/', async (context) => {
    const { req, render } = context;
    const start = readStart<ApplicationId>((name) => queryText(req.query(name)) || null);
    const fields = readFields(NO_FILTER, req.query());
    const text = searchedText(fields.search);
    const filter = {
      text: text || undefined,
      status: fields.status || undefined,
      plan: fields.plan || undefined,
    };
    const page = await findTeams(options, filter).page({ start, limit: LIMIT });
    const file = exportList(context, options.logger, {
      name: 'teams',
      columns: EXPORTED,
      rows: findTeams(options, filter).all(),
    });
    if (file !== null) return file;
    const asksStripe = canAct(context.var);
    const customers = start === null ? await findTeamless(options, text, asksStripe) : [];
    return render(
      <Page title="Teams" area="Teams">
        <TeamFilters fields={fields} />
        {customers.map((customer, index) => (
          <CustomerPanel {...customer} index={index} back={urlWith('/teams', fields)} />
        ))}
        <List
          {...{ ...page, start, fields }}
          path="/teams"
          isEmpty={page.rows.length === 0}
          first="First"
          empty={customers.length === 0 && <NoTeams {...{ fields, start }} />}
          searched={`Searched all teams up to id ${page.searchedTo}. There may be more.`}
        >
          <Table
            label="Teams"
            columns={COLUMNS}
            rows={page.rows.map((team) => teamCells(team, fields))}
          />
        </List>
      </Page>,
    );
  });
}

const STATUS_LABELS: Readonly<Record<string, string>> = {
  none: 'no subscription',
  other: 'another status',
};

function TeamFilters({ fields }: { readonly fields: Fields }) {
  const { search, status, plan } = fields;
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
    </FilterForm>
  );
}

const COLUMNS = ['Team', { name: 'Id', class: 'end' }, 'Status', 'Plan', 'Customer'] as const;

function teamCells(team: NamedTeam, fields: Fields) {
  const { id, plan, lostPlan, customerId, dueSinceMs } = team;
  const planName =
    lostPlan === null
      ? (plan.planName ?? plan.providerProductId ?? plan.priceId ?? null)
      : (lostPlan.planName ?? lostPlan.productId);
  return [
    <a href={teamUrl(id)}>
      <UntrustedText text={teamName(team)} maxLength={80} />
    </a>,
    id,
    <StatusBadge status={plan.subscriptionStatus ?? null} isDue={dueSinceMs !== null} />,
    planName === null ? (
      '–'
    ) : (
      // The teams that have or had the same plan.
      <a href={urlWith('/teams', { ...fields, plan: planName })}>
        {lostPlan !== null && 'was '}
        <UntrustedText text={planName} maxLength={60} />
      </a>
    ),
    customerId === null ? '–' : <Id text={customerId} />,
  ];
}

type CustomerPanelProps = TeamlessCustomer & { readonly index: number; readonly back: string };

function CustomerPanel({ customerId, waiting, events, index, back }: CustomerPanelProps) {
  const isWaiting = events.some(({ outcome }) => outcome === 'parked');
  return (
    <Panel title="Customer without a team" id={`customer-${index}`}>
      <p class="lead">
        No team is linked to customer <UntrustedText text={customerId} maxLength={100} />.
        {isWaiting && ' Its events wait for a team, and are applied once one is linked.'}
      </p>
      <LinkCustomerForm {...{ customerId, waiting, back }} />
      <EventTable events={events} />
      {events.length === MAX_EVENTS && (
        <p>
          <a href={eventsOf('customer', customerId)}>All events of this customer</a>
        </p>
      )}
    </Panel>
  );
}

function NoTeams({ fields, start }: { readonly fields: Fields; readonly start: unknown }) {
  if (!isFiltered(fields) && start === null) {
    return (
      <Notice kind="empty" title="No teams yet">
        Your app adds them to the table teams. To try it, run{' '}
        <code>npx instep team add --name Acme</code>.
      </Notice>
    );
  }
  return (
    <Notice kind="empty" title={start === null ? 'No team found' : 'No more teams found'}>
      {fields.search === ''
        ? 'No team matches these filters.'
        : 'Enter part of a name, a team id, the email address of a person, the id of an event (evt_…), customer (cus_…) or subscription (sub_…), or an address of Stripe’s dashboard.'}{' '}
      {fields.search.includes('@') && <CodeText>{PEOPLE}</CodeText>}{' '}
      <a href="/teams">Show all teams</a>
    </Notice>
  );
}

const PEOPLE =
  'People are found by their address if a table says who belongs to which team (`members` in `INSTEP_TABLES`), and unless `PROFILE` is off.';

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
