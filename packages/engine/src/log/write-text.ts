// The one statement that writes: log, state, teams and outbox, all or nothing. Its final SQL for the starter's tables is
// in tests/engine/log/write-text.starter.sql.

import {
  assigned,
  comparable,
  fieldsOf,
  isOtherPlan,
  ownColumn,
  type TeamsTable,
  teamField,
  teamValue,
} from '../postgres/teams-table.ts';
import { PLAN_FIELDS } from '../rule/plan-fields.ts';
import { FACT_COLUMNS } from './customer-columns.ts';

const PLAN_COLUMNS = PLAN_FIELDS.map(ownColumn);

const COLUMNS = [...PLAN_COLUMNS, ...Object.keys(FACT_COLUMNS)];

const CHANGE =
  'team_id, customer_id, cause, event_key, event_id, event_created_at, operator, action_id';

const lines = (texts: readonly string[], indent: number) => texts.join(`,\n${' '.repeat(indent)}`);

/** A name that no event had can have been looked up. */
const stored = (column: string) =>
  column === 'plan_name'
    ? 'coalesce(plan_name, (select name from instep.products where product_id = provider_product_id))'
    : column;

const updated = (column: string) =>
  `${column} = ${column === 'had_team' ? 'customers.had_team or ' : ''}excluded.${column}`;

/**
 * The statement. `$1` has the rows of the customers in the order of their ids, `$2` a row of the outbox for each of their
 * teams, without a cause if its plan stays, and `$3` the events. Each is a list in JSON: one value to write and to parse
 * instead of one for each column, each of which PostgreSQL makes a table of. `$4` has the bodies of the events, one after
 * the other. `$5`: whether teams get the names of their plans, which an application's column can refuse. `$6` has the
 * customers whose parked events have found their team.
 *
 * Why one statement is enough, under READ COMMITTED:
 * - The locks of teams wait for nothing (`skip locked`) and look at the newest version of a row. A team is written only if
 *   its row is still as it was read. So a decision never takes away what the application wrote meanwhile, and `before` in
 *   the outbox is the locked row's.
 * - `on conflict` locks the newest version of a customer's row. If its version is the one that was read, nobody has decided
 *   about the customer in between. It can wait for another instance that stores the same customer, if that has no team to
 *   lock: in the order of ids, so that two never wait for each other.
 * - A team that was linked after the read is not locked, and its event waits for a team: maintenance settles it.
 * - Everything else depends on `written`. A customer that is locked elsewhere or has changed leaves no trace, while the
 *   others of the batch are stored.
 * - Positions are assigned after these locks, so their order is that in which the customer's events were folded.
 * - If a team's update was skipped (a trigger that returns null, a policy, a rule), or did not write the plan, all fails.
 *
 * Each part is a node or more that PostgreSQL sets up for each execution, which costs more than the rows of a single event
 * do. So each input is read by one part only, and the parts after `written` get the plan from it.
 */
export function writeText(teams: TeamsTable): string {
  const fields = fieldsOf(teams);
  const before = fields.map((field) => `${ownColumn(field)}_before`);
  const after = fields.map((field) => `${ownColumn(field)}_after`);
  const current = fields.map((field) => teamValue(teams, field));
  const read = fields.map(({ type }, index) => comparable(`team.${before[index]}`, type));
  const planned = fields.map((field) => {
    const isName = field.name === 'planName';
    const written = `written.${ownColumn(field)}`;
    return assigned(teams, field, isName ? `case when $5::boolean then ${written} end` : written);
  });
  if (teams.updatedAt !== null) planned.push(`${teams.updatedAt} = now()`);
  const returned = fields.map(
    (field, index) => `${teamField(teams, field)}::${field.type} as ${after[index]}`,
  );
  const isOther = isOtherPlan(teams, (field) => `${ownColumn(field)}_after`, ownColumn);
  // PostgreSQL must know the type of each parameter, also where no column has a name.
  const typedNames = teams.plan.has('planName') ? '' : '\n     and $5::boolean is not null';

  return `
with locked as materialized (
  -- Row by row, so that no plan reads a whole table. An application that inserts rows which reference a team need not wait
  -- for \`no key update\`.
  select ${CHANGE}, is_held,
         ${lines(before, 9)}
    from json_populate_recordset(null::instep.plan_changes, $2::json) as team
    left join lateral (
           select true as is_held
             from ${teams.name} as teams
            where teams.${teams.id.column} = team.team_id::${teams.id.type}
              and teams.${teams.customerId} = team.customer_id
              and (${lines(current, 19)})
                  is not distinct from
                  (${lines(read, 19)})
              for no key update skip locked
         ) as held on true
),

-- The state.
written as (
  insert into instep.customers (
           customer_id, version, subscriptions,
           ${lines(COLUMNS, 11)},
           charged_twice_since
         )
  select customer_id, version, subscriptions,
         ${lines(COLUMNS.map(stored), 9)},
         case when charged_twice is not null then clock_timestamp() end
    from json_populate_recordset(null::instep.customers, $1::json)
   where customer_id not in (select customer_id from locked where is_held is null)
      on conflict (customer_id) do update
     set version = excluded.version,
         subscriptions = excluded.subscriptions,
         ${lines(COLUMNS.map(updated), 9)},
         charged_twice_since =
           case
             when customers.charged_twice is not distinct from excluded.charged_twice
               then customers.charged_twice_since
             else clock_timestamp()
           end
   where customers.version = excluded.version - 1
  returning customer_id, ${lines(PLAN_COLUMNS, 12)}
),

-- The log. An event without a customer can't be read. One that is known already only counts its deliveries.
logged as (
  insert into instep.events (
           key, event_id, type, customer_id, subscription_id, created_at, received_at, deliveries, outcome,
           parked_outcome, body
         )
  select event.key, event.event_id, event.type, event.customer_id, event.subscription_id,
         to_timestamp(event.created), to_timestamp(event.received_ms / 1000.0), event.deliveries, event.outcome,
         event.parked_outcome, substring($4::bytea from event.body_start for event.body_bytes)
    from json_to_recordset($3::json) as event (
           number integer, key uuid, event_id text, type text, customer_id text, subscription_id text,
           created bigint, received_ms bigint, deliveries integer, outcome text, parked_outcome text,
           body_start integer, body_bytes integer
         )
   where event.customer_id is null
      or event.customer_id in (select customer_id from written)
   order by event.number
      on conflict (key) do update
     set deliveries = events.deliveries + excluded.deliveries,
         -- A newer version, which runs meanwhile, can have read what this one can't.
         outcome = case when excluded.customer_id is null then events.outcome else excluded.outcome end,
         parked_outcome = case when excluded.customer_id is null then events.parked_outcome else excluded.parked_outcome end
  -- Only a new row has no \`xmax\`.
  returning key, customer_id, xmax = 0 as is_new
), found as (
  update instep.events
     set outcome = events.parked_outcome,
         parked_outcome = null
    from written
   where written.customer_id = any ($6::text[])
     and events.customer_id = written.customer_id
     and events.outcome = 'parked'
     and events.key not in (select key from logged)
  returning events.type, events.outcome
),

-- The teams, and the outbox.
planned as (
  update ${teams.name} as teams
     set ${lines(planned, 9)}
    from locked
    join written using (customer_id)
   where teams.${teams.id.column} = locked.team_id::${teams.id.type}
     and locked.cause is not null${typedNames}
  returning locked.team_id,
            ${lines(returned, 12)}
), changed as (
  insert into instep.plan_changes (
           ${CHANGE},
           ${lines([...before, ...after], 11)}
         )
  select ${CHANGE},
         ${lines([...before, ...after], 9)}
    from locked
    join written using (customer_id)
    left join planned using (team_id)
   where cause is not null
     and case
           when planned.team_id is null
                or ${isOther}
           then instep.refuse_unwritten_plan()
           else (${lines(before, 17)})
                is distinct from
                (${lines(after, 17)})
         end
)
select customer_id, null as key, null as type, null as outcome
  from written
 union all
select null, key::text, null, null
  from logged
 where is_new
   and customer_id is null
 union all
select null, null, type, outcome
  from found`;
}
