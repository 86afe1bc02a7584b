// Writes the plan of a team that is locked, and its change. What ingest writes is in log/write-text.ts.

import type { ActingOperator, ChangeCause } from '../../rule/plan-change.ts';
import type { PlanInRow } from '../../rule/plan-fields.ts';
import type { Query } from '../database.ts';
import { DatabaseRefused } from '../errors.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import {
  assigned,
  columnOf,
  fieldsOf,
  planColumns,
  teamField,
  valueInTeam,
} from '../teams-table.ts';
import type { Team } from './teams.ts';

/** A plan to write to a team, which is as it was read under its lock, and why. */
export type PlanWrite = {
  readonly team: Team;
  readonly shouldBe: PlanInRow;
  readonly cause: ChangeCause;
  readonly operator?: ActingOperator | null;
};

const CHANGE = 'team_id, customer_id, cause, operator, action_id';

/** `$1` is the change, whose `after` is the plan that the team should have. */
const WRITE_PLAN = ({ teams: { table } }: ApplicationTables) => {
  const fields = fieldsOf(table);
  const before = fields.map((field) => `${columnOf(field)}_before`).join(', ');
  const after = fields.map((field) => `${columnOf(field)}_after`).join(', ');
  const assignments = fields.map((field) =>
    assigned(table, field, `plan.${columnOf(field)}_after`),
  );
  if (table.updatedAt !== null) assignments.push(`${table.updatedAt} = now()`);
  const returned = fields.map(
    (field) => `${teamField(table, field)}::${field.type} as ${columnOf(field)}_after`,
  );
  // A trigger that returns null, a policy or a view can skip the update of a row without an error, and a trigger can change
  // its values. The application can shorten a name, so names are not compared. What a trigger does after the update is not
  // seen.
  const isWritten = fields.flatMap((field) =>
    field.name === 'planName'
      ? []
      : `written.${columnOf(field)}_after
                     is not distinct from ${valueInTeam(table, field, `plan.${columnOf(field)}_after`)}`,
  );
  return `
      with plan as materialized (
        select *
          from json_populate_record(null::instep.plan_changes, $1::json)
      ), written as (
        update ${table.name} as teams
           set ${assignments.join(',\n               ')}
          from plan
         where teams.${table.id.column} = plan.team_id::${table.id.type}
        returning true as is_there,
                  ${returned.join(',\n                  ')}
      )
      insert into instep.plan_changes (${CHANGE}, ${before}, ${after})
      select ${CHANGE}, ${before},
             ${fields.map((field) => `written.${columnOf(field)}_after`).join(', ')}
        from plan
        left join written on true
       where case
               when ${['is_there', ...isWritten].join('\n                and ')}
                 then (${before}) is distinct from (${fields.map((field) => `written.${columnOf(field)}_after`).join(', ')})
               else instep.refuse_unwritten_plan()
             end`;
};

/** The change as a row of `instep.plan_changes`. */
function changeOf({ team, shouldBe, cause, operator }: PlanWrite, isNamed: boolean) {
  return {
    team_id: team.id,
    customer_id: team.customerId,
    cause,
    operator: operator?.name,
    action_id: operator?.actionId,
    ...planColumns(team.plan, '_before'),
    ...planColumns(isNamed ? shouldBe : { ...shouldBe, planName: null }, '_after'),
  };
}

/**
 * Writes the plan of a team that is locked, with or without its name, and records what changes. Other columns are the app's.
 *
 * @throws DatabaseRefused when the application skips the update of the row, changes its plan, or refuses it
 */
export async function writePlan(query: Query, write: PlanWrite, isNamed = true): Promise<void> {
  const values = [JSON.stringify(changeOf(write, isNamed))];
  await query({ name: 'write_plan', text: WRITE_PLAN, values });
}

/** The same; without the name if the application refuses the plan, because its column can be too short for it. */
export async function writePlanThatFits(query: Query, write: PlanWrite): Promise<void> {
  await query('savepoint before_plan');
  try {
    await writePlan(query, write);
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error;
    await query('rollback to savepoint before_plan');
    await writePlan(query, write, false);
  }
}
