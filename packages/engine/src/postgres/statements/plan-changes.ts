// The history of the teams' plans, `instep.plan_changes`, which is written with the plan.

import type { ChangeCause } from '../../rule/plan-change.ts';
import { PLAN_FIELDS, type PlanInRow } from '../../rule/plan-fields.ts';
import type { ApplicationId } from '../application.ts';
import type { Database, Query } from '../database.ts';
import { onlyRow } from '../named-statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import { columnOf, comparable } from '../teams-table.ts';

/** The plan before and after a change. */
const columnsOf = (when: 'before' | 'after') =>
  PLAN_FIELDS.map((field) => `${columnOf(field)}_${when}`).join(', ');
const BEFORE = columnsOf('before');
const AFTER = columnsOf('after');

/** A change of a team's plan. */
export type PlanChange = {
  /** The ids of a team's changes are in the order in which they were made. */
  readonly id: number;
  readonly teamId: ApplicationId;
  /** The customer whose plan it is or was. */
  readonly customerId: string | null;
  readonly changedAt: Date;
  /** For a change that the application itself made and Instep noticed at `changedAt`: when it can have been made. */
  readonly possibleSince: Date | null;
  readonly cause: ChangeCause;
  readonly eventId: string | null;
  /** When the event was created, by Stripe's clock. */
  readonly eventCreatedAt: Date | null;
  /** Who made the change, if an operator did. */
  readonly operator: string | null;
  /** `null`: the row's plan columns were all empty. */
  readonly before: PlanInRow | null;
  readonly after: PlanInRow | null;
};

/** SQL for the plan in these columns: a field that is not the contract's is there if it has a value. */
function planJson(column: (name: string) => string): string {
  const pairs = (isRequired: boolean) =>
    PLAN_FIELDS.filter((field) => field.isRequired === isRequired).map((field) => {
      return `'${field.name}', ${comparable(column(columnOf(field)), field.type)}`;
    });
  return `jsonb_build_object(${pairs(true)}) || jsonb_strip_nulls(jsonb_build_object(${pairs(false)}))`;
}

const planOf = (when: 'before' | 'after') => `
             case
               when num_nonnulls(${when === 'before' ? BEFORE : AFTER}) > 0
                 then ${planJson((column) => `${column}_${when}`)}
             end as ${when}`;

/** The columns of a `PlanChange`, from `change`. */
export const PLAN_CHANGE_COLUMNS = ({ teams: { idType } }: ApplicationTables) => `
             change.id,
             ${idType === 'bigint' ? idFrom(idType, 'change.team_id') : 'change.team_id'} as "teamId",
             change.customer_id as "customerId",
             change.changed_at as "changedAt",
             change.possible_since as "possibleSince",
             change.cause,
             change.event_id as "eventId",
             change.event_created_at as "eventCreatedAt",
             change.operator,
             ${planOf('before')},
             ${planOf('after')}`;

/** Which changes of a team to read, the newest first. */
export type TeamChangesRequest = {
  readonly teamId: ApplicationId;
  /** Only changes before this one, for the next page. */
  readonly beforeId?: number | undefined;
  /** 100 by default, and at most 1,000. */
  readonly limit?: number | undefined;
};

export const MAX_PLAN_CHANGES = 1_000;

const READ_TEAM_CHANGES = (tables: ApplicationTables) => `
      select ${PLAN_CHANGE_COLUMNS(tables)}
        from instep.plan_changes as change
       where team_id = $1
         and ($2::bigint is null or id < $2)
       order by id desc
       limit $3`;

/** The changes of a team's plan, the newest first. */
export async function readTeamChanges(
  query: Query,
  { teamId, beforeId, limit = 100 }: TeamChangesRequest,
): Promise<PlanChange[]> {
  return await query<PlanChange>({
    name: 'read_team_changes',
    text: READ_TEAM_CHANGES,
    values: [String(teamId), beforeId ?? null, Math.min(limit, MAX_PLAN_CHANGES)],
  });
}

/** The id of the newest change that is committed; 0 when there is none. */
export async function readNewestChange(query: Query): Promise<number> {
  const text = 'select coalesce(max(id), 0) as id from instep.plan_changes';
  const row = await onlyRow<{ id: number }>(query, { name: 'read_newest_change', text });
  return row.id;
}

/** A team's plan now, in the order of `AFTER`. */
const TEAM_PLAN = PLAN_FIELDS.map((field) => `team.${columnOf(field)}::${field.type}`).join(', ');

/** The teams of `$1` that have another plan than the history says. */
const FROM_DIFFERING_TEAMS = ({ teams: { rows, idType } }: ApplicationTables) => `
          from ${rows} as team
         cross join lateral (
                 select changed_at, ${AFTER}
                   from instep.plan_changes
                  where team_id = team.id::text
                  order by id desc
                  limit 1
               ) as last
         where team.id = any ($1::${idType}[])
           and (${TEAM_PLAN}) is distinct from (${AFTER})`;

const LOCK_DIFFERING = (tables: ApplicationTables) =>
  `select team.id ${FROM_DIFFERING_TEAMS(tables)} order by team.id for no key update of team skip locked`;

// Only now does it see what was committed before the lock.
const RECORD_APPLICATION_CHANGES = (tables: ApplicationTables) => `
        insert into instep.plan_changes
               (team_id, customer_id, cause, possible_since, ${BEFORE}, ${AFTER})
        select team.id::text, team.provider_customer_id, 'app', changed_at, ${AFTER}, ${TEAM_PLAN}
        ${FROM_DIFFERING_TEAMS(tables)}`;

/** Records what the application has changed in these teams. A team that is locked is next. */
export async function recordApplicationChanges(
  database: Database,
  teamIds: readonly ApplicationId[],
): Promise<void> {
  await database.transaction(async (query) => {
    const locking = { name: 'lock_differing_teams', text: LOCK_DIFFERING, values: [teamIds] };
    const ids = (await query<{ id: ApplicationId }>(locking)).map(({ id }) => id);
    const recording = { name: 'record_application_changes', text: RECORD_APPLICATION_CHANGES };
    if (ids.length > 0) await query({ ...recording, values: [ids] });
  });
}
