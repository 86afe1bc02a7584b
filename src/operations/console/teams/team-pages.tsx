import { Hono } from 'hono';
import { type NamedTeam, readNamedTeams } from '../../../queries/named-teams.ts';
import { autoLoad } from '../components/auto-load.ts';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { Field } from '../components/field.tsx';
import { Pager } from '../components/pager.tsx';
import { StatusBadge } from '../components/status-badge.tsx';
import { Table } from '../components/table.tsx';
import { UntrustedText } from '../components/untrusted-text.tsx';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import { queryNumber, queryText } from '../query-text.ts';
import type { MakeReconcileOptions } from '../reconcile/create-options.ts';
import { findTeams, type PageOfTeams } from './find-teams.ts';
import { oneTeamPages } from './one-team.tsx';

const LIMIT = 50;

/** `/teams`: all of them, or those that somebody searches for; and each by itself. */
export function teamPages(options: ConsoleOptions, makeOptions: MakeReconcileOptions): Hono {
  const { database, now } = options;
  const { query } = database;
  const app = new Hono();

  async function readPage(text: string, afterId: number): Promise<PageOfTeams> {
    if (text !== '') return await findTeams(query, { text, afterId, limit: LIMIT, now });
    const teams = await readNamedTeams(query, { afterId, limit: LIMIT + 1 });
    const page = teams.slice(0, LIMIT);
    const after = teams.length > LIMIT ? (page.at(-1)?.id ?? null) : null;
    return { teams: page, after, isCutShort: false };
  }

  app.get('/', async ({ req, html }) => {
    const text = queryText(req.query('search'));
    const afterId = queryNumber(req.query('after')) ?? 0;
    const page = await readPage(text, afterId);
    return html(
      <Page title="Teams" area="Teams">
        <SearchForm text={text} />
        <div id="found">
          {page.teams.length > 0 && <TeamTable teams={page.teams} />}
          <Rest page={page} text={text} afterId={afterId} />
        </div>
      </Page>,
    );
  });

  return app.route('/', oneTeamPages(options, makeOptions));
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

const COLUMNS = ['Team', { name: 'Id', align: 'end' }, 'Status', 'Plan', 'Customer'] as const;

function TeamTable({ teams }: { readonly teams: readonly NamedTeam[] }) {
  return (
    <Table label="Teams" columns={COLUMNS}>
      {teams.map(({ id, name, customerId, plan }) => (
        <tr>
          <td>
            <a href={`/teams/${id}`}>
              <UntrustedText text={name || `Team ${id}`} maxLength={80} />
            </a>
          </td>
          <td class="end">{id}</td>
          <td>
            <StatusBadge status={plan.subscriptionStatus} />
          </td>
          <td>
            {plan.planName === null ? '–' : <UntrustedText text={plan.planName} maxLength={60} />}
          </td>
          <td>{customerId === null ? '–' : <UntrustedText text={customerId} maxLength={40} />}</td>
        </tr>
      ))}
    </Table>
  );
}

type RestProps = { readonly page: PageOfTeams; readonly text: string; readonly afterId: number };

/** What is said below the teams, and the way to more of them. */
function Rest({ page, text, afterId }: RestProps) {
  const { teams, after, isCutShort } = page;
  if (teams.length === 0 && after === null) return <Nothing text={text} afterId={afterId} />;
  const search = text === '' ? '' : `search=${encodeURIComponent(text)}`;
  const next = after === null ? null : `/teams?${search}&after=${after}`;
  return (
    <>
      {isCutShort && (
        <p class="quiet" {...(teams.length === 0 && next !== null && autoLoad(next))}>
          The names of teams up to {after} were looked at. There may be more.
        </p>
      )}
      <Pager
        first={afterId > 0 ? { href: `/teams?${search}`, text: 'First' } : null}
        next={next === null ? null : { href: next, text: isCutShort ? 'Search further' : 'More' }}
      />
    </>
  );
}

function Nothing({ text, afterId }: Pick<RestProps, 'text' | 'afterId'>) {
  if (text !== '' || afterId > 0) {
    return (
      <EmptyState title={afterId > 0 ? 'No more such teams' : 'No such team'}>
        A part of the name will do. Team ids, customers (cus_…) and subscriptions (sub_…) must be
        whole; e-mail addresses are not searched.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="There are no teams yet">
      Your app adds them to the table teams. To try it: npx instep team add --name Acme
    </EmptyState>
  );
}
