// The history of the teams' plans, `instep.plan_changes`, which is written with the plan.

import type { ChangeCause } from '../../rule/plan-change.ts';
import { PLAN_FIELDS, type PlanInRow } from '../../rule/plan-fields.ts';
import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import { onlyRow } from '../statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import { comparable, ownColumn } from '../teams-table.ts';

/** A change of a team's plan. */
export type PlanChange = {
  /** The ids of a team's changes are in the order in which they were made. */
  readonly id: number;
  readonly teamId: ApplicationId;
  /** The customer whose plan it is or was. */
  readonly customerId: string | null;
  readonly changedAt: Date;
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

/** SQL for the plan before or after a change: a field that is not the contract's is there if it has a value. */
function planOf(when: 'before' | 'after'): string {
  const columns = PLAN_FIELDS.map((field) => `${ownColumn(field)}_${when}`);
  const pairs = (isRequired: boolean) =>
    PLAN_FIELDS.filter((field) => field.isRequired === isRequired).map((field) => {
      return `'${field.name}', ${comparable(`${ownColumn(field)}_${when}`, field.type)}`;
    });
  return `
             case
               when num_nonnulls(${columns}) > 0
                 then jsonb_build_object(${pairs(true)})
                      || jsonb_strip_nulls(jsonb_build_object(${pairs(false)}))
             end as ${when}`;
}

/** The columns of a `PlanChange`, from `change`. */
export const PLAN_CHANGE_COLUMNS = ({ teams: { id } }: ApplicationTables) => `
             change.id,
             ${id.type === 'bigint' ? idFrom(id.type, 'change.team_id') : 'change.team_id'} as "teamId",
             change.customer_id as "customerId",
             change.changed_at as "changedAt",
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

const MAX_PLAN_CHANGES = 1_000;

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
