// Writes a plan to a team that is locked, and the change. What follows from events is written by log/write-text.ts.

import { isPlanOf, isSamePlan, NO_PLAN } from '../../rule/plan.ts';
import type { ActingOperator, ChangeCause } from '../../rule/plan-change.ts';
import { PLAN_FIELDS, type PlanInRow } from '../../rule/plan-fields.ts';
import type { Query } from '../database.ts';
import { DatabaseRefused } from '../errors.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import {
  assigned,
  columnOf,
  fieldsOf,
  planColumns,
  planOfTexts,
  teamValue,
} from '../teams-table.ts';
import type { Team } from './teams.ts';

/** A plan to write to a team, which is as it was read under its lock, and why. */
type PlanWrite = {
  readonly team: Team;
  readonly shouldBe: PlanInRow;
  readonly cause: ChangeCause;
  readonly operator: ActingOperator | null;
};

/** `$1` is the team, `$2` its plan, in the columns of Instep's tables. */
const UPDATE_TEAM = ({ teams: { table } }: ApplicationTables) => {
  const fields = fieldsOf(table);
  const assignments = fields.map((field) => assigned(table, field, `plan.${columnOf(field)}`));
  if (table.updatedAt !== null) assignments.push(`${table.updatedAt} = now()`);
  const written = fields.map((field) => `(${teamValue(table, field)})::text as "${field.name}"`);
  return `
      update ${table.name} as teams
         set ${assignments.join(',\n             ')}
        from json_populate_record(null::instep.customers, $2::json) as plan
       where teams.${table.id.column} = $1::text::${table.id.type}
      returning ${written.join(',\n                ')}`;
};

const CHANGE_COLUMNS = [
  ...['team_id', 'customer_id', 'cause', 'operator', 'action_id'],
  ...PLAN_FIELDS.flatMap((field) => [`${columnOf(field)}_before`, `${columnOf(field)}_after`]),
].join(', ');

const ADD_CHANGE = `
      insert into instep.plan_changes (${CHANGE_COLUMNS})
      select ${CHANGE_COLUMNS}
        from json_populate_record(null::instep.plan_changes, $1::json)`;

/**
 * Writes the plan of a team that is locked, and records what changes. Other columns are the app's.
 *
 * @throws DatabaseRefused when the application skips the update of the row, changes its plan, or refuses it
 */
export async function writePlan(
  query: Query,
  { team, shouldBe, cause, operator }: PlanWrite,
): Promise<void> {
  const values = [team.id, JSON.stringify(planColumns(shouldBe))];
  const update = { name: 'write_plan', text: UPDATE_TEAM, values };
  const [row] = await query<Record<string, string | null>>(update);
  const after = row && planOfTexts(row);
  // A trigger that returns null, a policy or a view can skip the update of a row without an error, and a trigger can change
  // its values. The application can shorten a name, so names are not compared.
  const { planName: _, ...written } = after ?? {};
  if (after === undefined || !isPlanOf(written, { ...NO_PLAN, ...shouldBe })) {
    throw new DatabaseRefused(
      'the plan was not written: a trigger, a policy or a view of the app skipped or changed it',
    );
  }
  if (isSamePlan(team.plan, after)) return;
  const change = {
    ...{ team_id: team.id, customer_id: team.customerId, cause },
    ...{ operator: operator?.name, action_id: operator?.actionId },
    ...planColumns(team.plan, '_before'),
    ...planColumns(after, '_after'),
  };
  await query({ name: 'add_change', text: ADD_CHANGE, values: [JSON.stringify(change)] });
}
