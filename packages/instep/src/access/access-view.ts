// The view `instep.team_access`, which follows the app's tables (docs/access.md). connect.ts makes it, the doctor
// checks it.

import { hash } from 'node:crypto';
import {
  type Database,
  type FeatureSchema,
  newestVersion,
  onlyRow,
  type Query,
  type Recognition,
} from 'instep-engine/postgres';
import {
  type Access,
  END_MARGIN_SECONDS,
  GRANTING_STATUSES,
  STATUSES,
  statusesWithAccess,
} from 'instep-engine/rule';
import { ACCESS_MIGRATIONS } from './migrations.ts';

const list = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');

/** SQL: whether a status gives access to this extent. */
const gives = (access: Access) => `access_status in (${list(statusesWithAccess(access))})`;

const IS_GRANTED = `in (${list(GRANTING_STATUSES)})`;

/**
 * The engine has chosen the subscription that decides, as for the plan, except that with `TEAM_PLAN=best`, one without
 * access never decides while another has it. A plan that the application gave away counts while none has access, if its
 * status says that it is active: other tables have a name for having no plan.
 */
const VIEW = `
create or replace view instep.team_access as
select team.team_id,
       coalesce(current.has_access, given.is_away) as has_access,
       case
         when current.access_status is null and given.is_away then 'app'
         when current.is_over and current.gives_access then 'end_not_confirmed'
         when current.access_status is null then 'none'
         when current.access_status = 'past_due' and not current.has_access then 'past_due_expired'
         when current.access_status in (${list(Object.keys(STATUSES))}) then current.access_status
         else 'unknown_status'
       end as reason,
       case
         when current.access_status is not null then coalesce(current.access_plan_name, products.name)
         when given.is_away then team.plan_name
       end as plan_name,
       case
         when current.access_status is not null then current.access_product_id
         when given.is_away then team.product_id
       end as product_id,
       current.access_subscription_id as subscription_id,
       current.access_quantity as quantity,
       current.access_status as status,
       case
         when current.is_over and current.gives_access then current.access_ends_at
         when current.access_status = 'past_due' and not current.has_access then current.grace_ends_at
         else current.access_since
       end as since,
       case
         when current.has_access then least(current.access_ends_at, current.grace_ends_at)
       end as ends_at,
       current.access_trial_ends_at as trial_ends_at,
       current.access_period_ends_at as current_period_ends_at,
       current.access_cancels_at_end as cancel_at_period_end,
       case when current.access_status = 'past_due' then current.access_since end as payment_due_since,
       current.access_is_paused as collection_paused
  from instep.linked_teams() as team
 cross join instep.access_policy as policy
  left join instep.customers as customer on customer.customer_id = team.customer_id
 cross join lateral (
         select team.subscription_id is null
                  and coalesce(team.subscription_status ${IS_GRANTED}, false)
                  and not coalesce(customer.grants_plan, false) as is_away
       ) as given
  left join lateral (
         select facts.*,
                gives_access and not is_over as has_access
           from (
                  select customer.*,
                         coalesce(now() > access_ends_at + interval '${END_MARGIN_SECONDS} seconds', false)
                           as is_over,
                         case
                           when access_status = 'past_due' then access_since + policy.past_due_grace
                         end as grace_ends_at,
                         case
                           when ${gives('yes')} then true
                           when ${gives('no')} then false
                           when ${gives('in grace')} then
                             coalesce(now() < access_since + policy.past_due_grace, true)
                           -- A status that is new at Stripe changes nothing.
                           else access_grants_plan
                         end as gives_access
                   where access_status is not null
                ) as facts
       ) as current on current.has_access or not given.is_away
  left join instep.products on products.product_id = current.access_product_id;`;

/** The columns of a team that the view reads as text, in the order in which its function returns them. */
const TEXT_FIELDS = [
  'providerCustomerId',
  'providerSubscriptionId',
  'providerProductId',
  'planName',
  'subscriptionStatus',
] as const;

/**
 * The statements that make the view `instep.team_access`. It reads the teams through a function, because no table of
 * the application can be altered or dropped while a view uses it. PostgreSQL inlines the function, so that a condition
 * on `team_id` uses the table's index, and the caller's own privileges and policies on the teams apply.
 */
function viewSql({ teams }: Recognition): { sql: string; result: string } | null {
  if (teams === null) return null;
  const columnOf = (name: string) => teams.columns.find(({ field }) => field === name)?.column;
  const id = columnOf('id');
  if (!id) return null;
  const isPadded = id.type === 'character';
  const type = isPadded ? 'text' : id.type;
  const read = [
    `${id.sql}${isPadded ? '::text' : ''}`,
    ...TEXT_FIELDS.map((field) => `${columnOf(field)?.sql ?? 'null'}::text`),
  ];
  const result = `TABLE(team_id ${type}, customer_id text, subscription_id text, product_id text, plan_name text, subscription_status text)`;
  const sql = `
create or replace function instep.linked_teams() returns ${result}
  language sql stable as
$body$
select ${read.join(', ')} from ${teams.table.sql}
$body$;
${VIEW}`;
  return { sql, result };
}

const madeFrom = (sql: string) => `Made by Instep from ${hash('sha256', sql).slice(0, 16)}`;

type ViewState = {
  comment: string | null;
  /** The type of the function's rows. */
  result: string | null;
  migration: number;
};

async function readViewState(query: Query): Promise<ViewState> {
  return await onlyRow<ViewState>(
    query,
    `
    select obj_description(to_regclass('instep.team_access'), 'pg_class') as comment,
           pg_get_function_result(to_regprocedure('instep.linked_teams()')) as result,
           (select max(version) from instep.migrations where owner = 'access') as migration`,
  );
}

/** Whether the view fits this program and the application's tables; also when a newer program has made it. */
export async function isAccessViewCurrent(
  query: Query,
  recognition: Recognition,
): Promise<boolean> {
  const made = viewSql(recognition);
  const { comment, migration } = await readViewState(query);
  return (
    made === null ||
    comment === madeFrom(made.sql) ||
    migration > newestVersion(ACCESS_MIGRATIONS, 'access')
  );
}

/** Makes the view `instep.team_access` for the application's tables, unless it is there. */
export async function makeAccessView(database: Database, recognition: Recognition): Promise<void> {
  const made = viewSql(recognition);
  if (made === null || (await isAccessViewCurrent(database.query, recognition))) return;
  await database.transaction(async (query) => {
    await query(`select pg_advisory_xact_lock(hashtext('instep.team_access'))`);
    await query(`set local lock_timeout = '2s'`);
    const { result } = await readViewState(query);
    // Neither can be replaced if the type of the ids has changed.
    const isOfOtherType = result !== null && result !== made.result;
    if (isOfOtherType) await query('drop view if exists instep.team_access');
    if (isOfOtherType) await query('drop function instep.linked_teams()');
    await query(made.sql);
    await query(`comment on view instep.team_access is '${madeFrom(made.sql)}'`);
  });
}

/** The tables of access, and the view that depends on the application's. */
export const ACCESS_SCHEMA: FeatureSchema = {
  name: 'access',
  migrations: ACCESS_MIGRATIONS,
  views: ['team_access'],
  makeViews: makeAccessView,
};
