// Writes a plan to a team that is locked, and the change. What follows from events is written by log/write-text.ts.

import type { ActingOperator, ChangeCause } from '../../rule/plan-change.ts';
import type { PlanInRow } from '../../rule/plan-fields.ts';
import type { Query } from '../database.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import {
  assigned,
  fieldsOf,
  isOtherPlan,
  ownColumn,
  planColumns,
  teamField,
} from '../teams-table.ts';
import type { Team } from './teams.ts';

/** A plan to write to a team, which is as it was read under its lock, and why. */
type PlanWrite = {
  readonly team: Team;
  readonly shouldBe: PlanInRow;
  readonly cause: ChangeCause;
  readonly operator: ActingOperator | null;
};

// A trigger that returns null, a policy or a view can skip the update of a row without an error.
const WRITE_PLAN = ({ teams: table }: ApplicationTables) => {
  const fields = fieldsOf(table);
  const columns = fields.map(ownColumn).join(', ');
  const before = fields.map((field) => `${ownColumn(field)}_before`).join(', ');
  const after = fields.map((field) => `${ownColumn(field)}_after`).join(', ');
  const assignments = fields.map((field) =>
    assigned(table, field, `change.${ownColumn(field)}_after`),
  );
  if (table.updatedAt !== null) assignments.push(`${table.updatedAt} = now()`);
  const written = fields.map((field) => {
    return `${teamField(table, field)}::${field.type} as ${ownColumn(field)}`;
  });
  written.push('true as is_written');
  const isOther = isOtherPlan(table, ownColumn, (field) => `${ownColumn(field)}_after`);
  return `
      with change as (
        select *
          from json_populate_record(null::instep.plan_changes, $1::json)
      ), written as (
        update ${table.name} as teams
           set ${assignments.join(',\n               ')}
          from change
         where teams.${table.id.column} = change.team_id::${table.id.type}
        returning ${written.join(',\n                  ')}
      )
      insert into instep.plan_changes (team_id, customer_id, cause, operator, action_id, ${before}, ${after})
      select team_id, customer_id, cause, operator, action_id, ${before}, ${columns}
        from change
        left join written on true
       where case
               when is_written is null
                    or ${isOther}
                 then instep.refuse_unwritten_plan()
               else (${before}) is distinct from (${columns})
             end`;
};

/**
 * Writes the plan of a team that is locked, and records what changes. Other columns are the app's.
 *
 * @throws DatabaseRefused when the application skips the update of the row, changes its plan, or refuses it
 */
export async function writePlan(
  query: Query,
  { team, shouldBe, cause, operator }: PlanWrite,
): Promise<void> {
  const change = {
    ...{ team_id: team.id, customer_id: team.customerId, cause },
    ...{ operator: operator?.name, action_id: operator?.actionId },
    ...planColumns(team.plan, '_before'),
    ...planColumns(shouldBe, '_after'),
  };
  await query({ name: 'write_plan', text: WRITE_PLAN, values: [JSON.stringify(change)] });
}
