import type { ApplicationId, User } from '../core/application.ts';
import { fillEmptyTeams } from '../ingest/apply-batch.ts';
import type { Query } from '../postgres/database.ts';
import { addTeam as insertTeam } from '../postgres/statements/teams.ts';
import { addUser as insertUser } from '../postgres/statements/users.ts';
import { recordActions } from './audit.ts';
import type { OperateContext, Operator } from './context.ts';

/** Adds a team, which usually the application does. Its id. */
export async function addTeam(
  context: OperateContext,
  operator: Operator,
  team: Parameters<typeof insertTeam>[1],
): Promise<ApplicationId> {
  const { database, planSelection } = context;
  const id = await database.transaction(async (query) => {
    const id = await insertTeam(query, team);
    await recordAdded(query, context, operator, `team:${id}`);
    return id;
  });
  if (team.customerId !== null) {
    await fillEmptyTeams(database, planSelection, [team.customerId], operator.name);
  }
  return id;
}

/** Adds a user, which usually the application does. */
export async function addUser(
  context: OperateContext,
  operator: Operator,
  user: Parameters<typeof insertUser>[1],
): Promise<User> {
  return await context.database.transaction(async (query) => {
    const added = await insertUser(query, user);
    await recordAdded(query, context, operator, `user:${added.id}`);
    return added;
  });
}

async function recordAdded(
  query: Query,
  { nonce }: OperateContext,
  operator: Operator,
  subject: string,
): Promise<void> {
  const form = { formId: nonce(), operator, note: null };
  const result = { code: 'added' } as const;
  await recordActions(query, form, [{ subject, action: 'add', isDone: true, result }]);
}
