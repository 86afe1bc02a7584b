import { type Context, Hono } from 'hono';
import { explainHistory } from '../../../event-log/explain-history.ts';
import { type NamedTeam, readNamedTeam } from '../../../queries/named-teams.ts';
import { readCustomers } from '../../../queries/subscriptions.ts';
import type { ConsoleOptions } from '../options.ts';
import { notFound } from '../problems.ts';
import { queryNumber } from '../query-text.ts';
import type { MakeReconcileOptions } from '../reconcile/create-options.ts';
import { type Comparison, compareTeam } from './compare-team.ts';
import { OlderPage } from './older-page.tsx';
import { TeamPage } from './team-page.tsx';

/** So many events of a team's customer are shown at once. */
const LIMIT = 30;

/** `/teams/:id`: a team, why it has its plan or none, and what happened; and Reconcile. */
export function oneTeamPages(options: ConsoleOptions, makeOptions: MakeReconcileOptions): Hono {
  const { database, planSelection } = options;
  const { query } = database;
  const app = new Hono();

  async function found(context: Context): Promise<NamedTeam> {
    const id = queryNumber(context.req.param('id'));
    const team = id === null ? null : await readNamedTeam(query, id);
    if (team === null) throw notFound('There is no team of this id.');
    return team;
  }

  async function readHistory({ id, customerId }: NamedTeam, before: number | null) {
    if (customerId === null) return { entries: [], before: null, prunedBeforeMs: null };
    const request = { customerId, planSelection, teamIds: [id], before, limit: LIMIT };
    return await explainHistory(query, request);
  }

  async function show(context: Context, team: NamedTeam, comparison: Comparison | null) {
    const customerIds = team.customerId === null ? [] : [team.customerId];
    const known = await readCustomers(query, customerIds);
    const history = await readHistory(team, null);
    return context.html(<TeamPage {...{ team, known, history, planSelection, comparison }} />);
  }

  app.get('/:id', async (context) => {
    const team = await found(context);
    const before = queryNumber(context.req.query('before'));
    if (before === null) return show(context, team, null);
    return context.html(<OlderPage team={team} history={await readHistory(team, before)} />);
  });

  app.post('/:id/reconcile', async (context) => {
    const team = await found(context);
    const { how } = await context.req.parseBody();
    const comparison = await compareTeam(team, makeOptions, { isDryRun: how !== 'repair' });
    return show(context, await found(context), comparison);
  });

  return app;
}
