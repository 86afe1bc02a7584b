import { Hono } from 'hono';
import {
  type ApplicationId,
  findTeams,
  type NamedTeam,
  type OperateContext,
  type PageStart,
  STATUSES,
  TEAM_ISSUES,
} from 'instep-operate';
import { ExportLink } from '../components/export-link.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { Field, Select } from '../components/form.tsx';
import { ListEnd, readStart } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { Page } from '../page.tsx';
import { queryText } from '../query-parameters.ts';
import { readTeamFields, type TeamFields, teamFilterOf, teamsUrl } from './team-filter.ts';
import { teamPage } from './team-page.tsx';
import { TeamTable } from './team-table.tsx';

const LIMIT = 50;

/** `/teams`: the list of teams, with filters and a search; and each team's page. */
export function teamPages(options: OperateContext): Hono {
  const app = new Hono();
  app.get('/', async (context) => {
    const { req, render } = context;
    const start = readStart<ApplicationId>((name) => queryText(req.query(name)) || null);
    const fields = readTeamFields(context);
    if (fields.search.includes('@')) {
      return context.redirect(`/search?q=${encodeURIComponent(fields.search)}`, 303);
    }
    const filter = teamFilterOf(fields);
    const file = exportList(context, options, {
      name: 'teams',
      columns: EXPORTED,
      rows: (reading) => findTeams(reading, filter).all(),
    });
    if (file !== null) return file;
    const page = await findTeams(options, filter).page({ start, limit: LIMIT });
    return render(
      <Page title="Teams" area="Teams">
        <TeamFilters fields={fields} />
        <div id="results">
          {page.teams.length > 0 && (
            <>
              <ExportLink url={teamsUrl(fields)} />
              <TeamTable teams={page.teams} fields={fields} />
            </>
          )}
          {page.teams.length === 0 && page.searchedTo === null && (
            <NoTeams {...{ fields, start }} />
          )}
          <ListEnd
            {...{ ...page, start }}
            isEmpty={page.teams.length === 0}
            urlOf={(from) => teamsUrl(fields, from)}
            first="First"
            searched={`Searched all teams up to id ${page.searchedTo}. There may be more.`}
          />
        </div>
      </Page>,
    );
  });
  return app.route('/', teamPage(options));
}

const STATUS_LABELS: ReadonlyMap<string, string> = new Map([
  ...Object.keys(STATUSES).map((status) => [status, status] as const),
  ['none', 'no subscription'],
  ['other', 'another status'],
]);

const ISSUE_LABELS: ReadonlyMap<string, string> = new Map(
  TEAM_ISSUES.map((code) => [code, ISSUE_NAMES[code]]),
);

const labelOf = (value: string) => STATUS_LABELS.get(value) ?? ISSUE_LABELS.get(value) ?? value;

/** A plan is chosen in the list, by a click on it. */
function TeamFilters({ fields }: { readonly fields: TeamFields }) {
  const { search, status, issue } = fields;
  return (
    <FilterForm
      label="Teams"
      path="/teams"
      fields={fields}
      hidden={['plan']}
      inputs={
        <>
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
            options={[...STATUS_LABELS.keys()]}
            textOf={labelOf}
            value={status}
          />
          <Select
            label="Issue"
            name="issue"
            any="any or none"
            options={TEAM_ISSUES}
            textOf={labelOf}
            value={issue}
          />
        </>
      }
      textOf={labelOf}
    />
  );
}

type NoTeamsProps = {
  readonly fields: TeamFields;
  readonly start: PageStart<ApplicationId> | null;
};

function NoTeams({ fields, start }: NoTeamsProps) {
  if (Object.values(fields).every((value) => value === '') && start === null) {
    return (
      <Notice kind="empty" title="No teams yet">
        Your app adds them to the table teams. To try it, run{' '}
        <code>npx instep team add --name Acme</code>.
      </Notice>
    );
  }
  return (
    <Notice kind="empty" title={start !== null ? 'No more teams found' : 'No team found'}>
      {fields.search === ''
        ? 'No team matches these filters.'
        : 'Enter part of a name, a team id, the email address of a person, or the beginning of a customer (cus_…) or subscription (sub_…).'}{' '}
      <a href="/teams">Show all teams</a>
    </Notice>
  );
}

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
