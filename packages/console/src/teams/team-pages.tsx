import { Hono } from 'hono';
import {
  type ApplicationId,
  countDue,
  countText,
  findTeams,
  type NamedTeam,
  type OperateContext,
  type PageStart,
  readTeamCounts,
  TEAM_SORTS,
  type TeamSort,
} from 'instep/operate';
import { ExportLinks } from '../components/export-links.tsx';
import { Button, Field } from '../components/form.tsx';
import { ListEnd, readStart } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { Page } from '../page.tsx';
import { queryText } from '../query-parameters.ts';
import { FilterLinks, groupsMatching } from './filter-links.tsx';
import {
  readTeamFields,
  type TeamFields,
  teamFilterOf,
  teamOrderOf,
  teamsUrl,
} from './team-filter.ts';
import { countAll } from './team-groups.ts';
import { teamPage } from './team-page.tsx';
import { TeamTable } from './team-table.tsx';

const LIMIT = 50;

/** With more matching teams, ordering them would take too long. */
const MAX_SORTED = 10_000;

/** With more teams, finding those that match would. */
const MAX_READ = 100_000;

/** Teams with a due payment are looked up one by one. */
const MAX_DUE = 2_000;

/** `/teams`: the list of teams, with filters and a search; and each team's page. */
export function teamPages(options: OperateContext): Hono {
  const { now } = options;
  const app = new Hono();
  app.get('/', async (context) => {
    const { req, render } = context;
    const start = readStart<ApplicationId>((name) => queryText(req.query(name)) || null);
    const counts = await readTeamCounts(options);
    const given = readTeamFields(context);
    if (given.search.includes('@')) {
      return context.redirect(`/search?q=${encodeURIComponent(given.search)}`, 303);
    }
    const filter = teamFilterOf(given, now());
    const matching = counts === null ? Infinity : countAll(groupsMatching(counts.groups, given));
    const all = counts === null ? Infinity : countAll(counts.groups);
    const sorts = await sortsOf(filter.dueBeforeMs, matching, all);
    const fields = sorts.includes(teamOrderOf(given).sort) ? given : { ...given, sort: '' };
    const order = teamOrderOf(fields);
    const file = exportList(context, options, {
      name: 'teams',
      columns: EXPORTED,
      rows: (reading) => findTeams(reading, filter, order).all(),
    });
    if (file !== null) return file;
    const page = await findTeams(options, filter, order).page({ start, limit: LIMIT });
    return render(
      <Page title="Teams" area="Teams">
        <SearchForm fields={fields} />
        <FilterLinks fields={fields} counts={counts} nowMs={now()} />
        {counts !== null && !sorts.includes('name') && (
          <p class="quiet">
            Sorted by {order.sort === 'due' ? 'the time of the due payment' : 'id'}.{' '}
            {all <= MAX_READ
              ? `Filter the teams to sort up to ${countText(MAX_SORTED)} of them by any column.`
              : 'There are too many teams for another order; those with a due payment have one.'}
          </p>
        )}
        <div id="results">
          {page.teams.length > 0 && (
            <>
              <ExportLinks url={teamsUrl(fields)} />
              <TeamTable teams={page.teams} sorted={{ fields, order, sorts }} />
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

  /** By what the matching teams can be sorted: ids and due payments have an index. */
  async function sortsOf(
    dueBeforeMs: number | undefined,
    matching: number,
    all: number,
  ): Promise<readonly TeamSort[]> {
    if (matching <= MAX_SORTED && all <= MAX_READ) return TEAM_SORTS;
    if (dueBeforeMs === undefined) return ['id'];
    const due = await countDue(options, dueBeforeMs, MAX_DUE + 1);
    return due <= MAX_DUE ? TEAM_SORTS : ['id', 'due'];
  }
}

function SearchForm({ fields }: { readonly fields: TeamFields }) {
  const { search, ...others } = fields;
  return (
    <search aria-label="Teams">
      <form method="get" action="/teams" class="row">
        <Field
          label="Name, id, email address, customer or subscription"
          name="search"
          type="search"
          value={search}
          maxlength={300}
        />
        {Object.entries(others).flatMap(([name, values]) =>
          [values]
            .flat()
            .map((value) => value && <input type="hidden" name={name} value={value} />),
        )}
        <Button kind="main">Search</Button>
      </form>
    </search>
  );
}

type NoTeamsProps = {
  readonly fields: TeamFields;
  readonly start: PageStart<ApplicationId> | null;
};

function NoTeams({ fields, start }: NoTeamsProps) {
  const { sort: _, ...filter } = fields;
  if (Object.values(filter).every(({ length }) => length === 0) && start === null) {
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
  status: ({ plan }) => plan.subscriptionStatus,
  plan: ({ plan }) => plan.planName,
  product: ({ plan }) => plan.providerProductId,
  subscription: ({ plan }) => plan.providerSubscriptionId,
  customer: ({ customerId }) => customerId,
  lost_plan: ({ lostPlan }) => lostPlan?.planName ?? null,
  lost_product: ({ lostPlan }) => lostPlan?.productId ?? null,
  due_since: ({ dueSinceMs }) => exportedTime(dueSinceMs),
};
