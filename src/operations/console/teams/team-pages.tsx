import { Hono } from 'hono';
import type { ApplicationId } from '../../../core/application-id.ts';
import type { ReconcileServices } from '../../../maintenance/reconcile/options.ts';
import type { NamedTeam } from '../../../queries/named-teams.ts';
import { StatusBadge } from '../components/badges.tsx';
import { Button, Field } from '../components/form.tsx';
import { autoLoad, Pager } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { Id, OptionalText, UntrustedText } from '../components/text.tsx';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import { queryText } from '../query-parameters.ts';
import { findTeams, type PageOfTeams, teamName, teamUrl } from './find-teams.ts';
import { teamPage } from './team-page.tsx';

const LIMIT = 50;

/** `/teams`: the list of teams, with a search; and each team's page. */
export function teamPages(options: ConsoleOptions, services: ReconcileServices): Hono {
  const { database, clockMs } = options;
  const app = new Hono();
  app.get('/', async ({ req, html }) => {
    const text = queryText(req.query('search'));
    const afterId = queryText(req.query('after')) || null;
    const page = await findTeams(database.query, { text, afterId, limit: LIMIT, clockMs });
    return html(
      <Page title="Teams" area="Teams">
        <SearchForm text={text} />
        <div id="results">
          {page.teams.length > 0 && <TeamTable teams={page.teams} />}
          <PageEnd page={page} text={text} afterId={afterId} />
        </div>
      </Page>,
    );
  });
  return app.route('/', teamPage(options, services));
}

function SearchForm({ text }: { readonly text: string }) {
  return (
    <search aria-label="Teams">
      <form method="get" action="/teams" class="row">
        <Field
          label="Name, team id, customer or subscription"
          name="search"
          type="search"
          value={text}
          maxlength={300}
        />
        <Button kind="main">Search</Button>
      </form>
    </search>
  );
}

const COLUMNS = ['Team', { name: 'Id', class: 'end' }, 'Status', 'Plan', 'Customer'] as const;

export function TeamTable({ teams }: { readonly teams: readonly NamedTeam[] }) {
  return <Table label="Teams" columns={COLUMNS} rows={teams.map(cellsOf)} />;
}

function cellsOf(team: NamedTeam) {
  const { id, customerId, plan } = team;
  return [
    <a href={teamUrl(id)}>
      <UntrustedText text={teamName(team)} maxLength={80} />
    </a>,
    id,
    <StatusBadge status={plan.subscriptionStatus} />,
    <OptionalText text={plan.planName} />,
    customerId === null ? '–' : <Id text={customerId} />,
  ];
}

type PageEndProps = {
  readonly page: PageOfTeams;
  readonly text: string;
  readonly afterId: ApplicationId | null;
};

/** The end of a page of teams: what else there is, and how to get there. */
function PageEnd({ page, text, afterId }: PageEndProps) {
  const { teams, after, isCutShort } = page;
  if (teams.length === 0 && after === null) return <NoTeams text={text} afterId={afterId} />;
  const search = text === '' ? '' : `search=${encodeURIComponent(text)}`;
  const next = after === null ? null : `/teams?${search}&after=${encodeURIComponent(after)}`;
  return (
    <>
      {isCutShort && (
        <p class="quiet" {...(teams.length === 0 && next !== null && autoLoad(next))}>
          Searched the names of all teams up to id {after}. There may be more.
        </p>
      )}
      <Pager
        first={afterId !== null && { href: `/teams?${search}`, text: 'First' }}
        next={next !== null && { href: next, text: isCutShort ? 'Search further' : 'More' }}
      />
    </>
  );
}

function NoTeams({ text, afterId }: Omit<PageEndProps, 'page'>) {
  if (text === '' && afterId === null) {
    return (
      <Notice kind="empty" title="No teams yet">
        Your app adds them to the table teams. To try it: npx instep team add --name Acme
      </Notice>
    );
  }
  return (
    <Notice kind="empty" title={afterId !== null ? 'No more teams found' : 'No team found'}>
      Enter part of a name, or a whole team id, customer (cus_…) or subscription (sub_…). E-mail
      addresses are not searched.
    </Notice>
  );
}
