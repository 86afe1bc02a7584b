// Links teams to customers, each in a transaction. The caller then settles the customer.

import { isPlanOf, NO_PLAN } from '../../rule/plan.ts';
import type { ActingOperator } from '../../rule/plan-change.ts';
import { partOf } from '../../rule/plan-fields.ts';
import { planWriterOf } from '../../rule/plan-writer.ts';
import { retry } from '../../runtime/retry.ts';
import type { ApplicationId } from '../application.ts';
import type { Database, Query } from '../database.ts';
import { DatabaseBusy, DatabaseRefused } from '../errors.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import { readStates } from './customers.ts';
import { lockTeam, readTeamsOf, type Team } from './teams.ts';
import { writePlan } from './write-plan.ts';

type LinkOptions = {
  /** The customer that the team has, or `null`; any by default. */
  readonly expectedCustomerId?: string | null;
  /** Who links it; by default, no operator does. */
  readonly operator?: ActingOperator | null;
};

/**
 * Gives a team a customer or none (`null`) in a transaction. A plan of the customer waits for `settle`, which maintenance
 * does within seconds; without one, the team loses the plan of its former customer at once. Returns the customer that it
 * has, which stays as it is if it is not the expected one.
 *
 * @throws DatabaseRefused when another team is linked to the customer, or the application refuses or skips the update;
 * DatabaseBusy when another transaction holds the team, or links the customer
 */
export async function linkTeam(
  query: Query,
  id: ApplicationId,
  customerId: string | null,
  { expectedCustomerId, operator = null }: LinkOptions = {},
): Promise<string | null> {
  await query(LIMIT_WAIT);
  const team = await lockTeam(query, id);
  if (team === null) throw notLinked();
  const { customerId: former } = team;
  if (former === customerId) return customerId;
  if (![undefined, former].includes(expectedCustomerId)) return former;
  const link = { name: 'set_customer', text: SET_CUSTOMER, values: [id, customerId] };
  if ((await query(link)).length === 0) throw notLinked();
  const waiting = await query({ name: 'await_plan', text: AWAIT_PLAN, values: [customerId] });
  if (waiting.length === 0) await takePlan(query, team, operator);
  return customerId;
}

// A transaction of the app can hold the team, or the customer in a unique index, and whatever else needs a connection would
// wait with the link.
const LIMIT_WAIT = `set local lock_timeout = '250ms'`;

const notLinked = () =>
  new DatabaseRefused(
    'the link was not written: a trigger, a policy or a view of the app skipped it',
  );

const SET_CUSTOMER = ({ teams: table }: ApplicationTables) => `
      update ${table.name}
         set ${table.customerId} = $2${table.updatedAt === null ? '' : `, ${table.updatedAt} = now()`}
       where ${table.id.column} = ${idFrom(table.id.type, '$1::text')}
      returning ${table.id.column} as id`;

// Stripe is asked about the customer again, whatever it has answered while a former team had it. And whatever the team's row
// has then, it gets the plan.
const AWAIT_PLAN = `
      with forgotten as (
        delete from instep.asked_customers
         where customer_id = $1
      )
      update instep.customers
         set version = version + 1,
             waiting = 'plan'
       where customer_id = $1
         and provider_subscription_id is not null
      returning customer_id`;

/** Takes away the plan of the team's former customer, unless the application gave it away. */
async function takePlan(query: Query, team: Team, operator: ActingOperator | null): Promise<void> {
  const { customerId, plan } = team;
  if (customerId === null || isPlanOf(plan, NO_PLAN)) return;
  const state = (await readStates(query, [customerId])).of(customerId);
  if (planWriterOf(plan, state) === 'app') return;
  await writePlan(query, { team, shouldBe: partOf(NO_PLAN, plan), cause: 'link', operator });
}

/** Why a team can't be linked to a customer. */
export type LinkRefusal = 'team has another customer' | 'customer has another team';

type Link = { readonly teamId: ApplicationId; readonly customerId: string };

/** Another transaction that links the same customer or team is over soon. */
const PAUSE_MS = 20;

/**
 * Links a team without a customer to a customer without a team, in a transaction of its own. A crash before the customer's
 * plan is written leaves an empty team, which is settled.
 *
 * @throws DatabaseRefused when there is no such team, the application refuses the link, or row level security hides the
 * team from updates; DatabaseBusy after the deadline
 */
export async function linkAvailableTeam(
  database: Pick<Database, 'transaction'>,
  link: Link,
  deadlineMs: number,
): Promise<'linked' | LinkRefusal> {
  const giveUpAtMs = performance.now() + deadlineMs;
  return await retry(() => database.transaction((query) => linkIfAvailable(query, link)), {
    isRetryable: (error) => error instanceof DatabaseBusy && performance.now() < giveUpAtMs,
    firstPauseMs: PAUSE_MS,
    longestPauseMs: PAUSE_MS,
  });
}

// Two teams can be linked to one customer at the same moment, and not every application has a unique index.
const LOCK_CUSTOMER_TO_LINK = `select pg_advisory_xact_lock(hashtextextended('instep link ' || $1, 0))`;

async function linkIfAvailable(
  query: Query,
  { teamId, customerId }: Link,
): Promise<'linked' | LinkRefusal> {
  await query(LIMIT_WAIT);
  await query({ name: 'lock_customer', text: LOCK_CUSTOMER_TO_LINK, values: [customerId] });
  const teams = await readTeamsOf(query, [customerId]);
  const idOf = (id: ApplicationId) => String(id).toLowerCase();
  if (teams.some(({ id }) => idOf(id) === idOf(teamId))) return 'linked';
  if (teams.length > 0) return 'customer has another team';
  const has = await linkTeam(query, teamId, customerId, { expectedCustomerId: null });
  return has === customerId ? 'linked' : 'team has another customer';
}
