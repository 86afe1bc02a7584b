// Links teams to customers, each in a transaction.

import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import { DatabaseRefused } from '../errors.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import { type CurrentPlanOptions, writeCurrentPlan } from './current-plan.ts';
import { lockTeam, readTeamsOf, type TeamLock } from './teams.ts';

type LinkOptions = CurrentPlanOptions & {
  /** The customer that the team has, or `null`; any by default. */
  readonly expectedCustomerId?: string | null;
};

// Events of the customer that were decided without the team are decided again.
const RAISE_VERSION = `
      update instep.customers
         set version = version + 1
       where customer_id = $1`;

/**
 * Gives a team a customer or none (`null`) in a transaction, and in the same change of its row the plan that it has then.
 * Returns the customer that it has, which stays as it is if it is not the expected one.
 *
 * @throws DatabaseRefused when another team is linked to the customer, or the application refuses or skips the update
 */
export async function linkTeam(
  query: Query,
  id: ApplicationId,
  customerId: string | null,
  { expectedCustomerId, ...options }: LinkOptions,
): Promise<string | null> {
  const team = await lockTeamToLink(query, id, 'update');
  if (team === null) throw notLinked();
  const { customerId: formerCustomerId } = team;
  const isChanged = formerCustomerId !== customerId;
  const isExpected = [undefined, formerCustomerId].includes(expectedCustomerId);
  if (isChanged && !isExpected) return formerCustomerId;
  const isForced = formerCustomerId !== null && isChanged;
  await setCustomer(query, id, customerId);
  if (customerId !== null) {
    await query({ name: 'raise_version', text: RAISE_VERSION, values: [customerId] });
  }
  const writing = { ...options, isForced, formerCustomerId };
  await writeCurrentPlan(query, { ...team, customerId }, writing);
  return customerId;
}

const FORGET_ANSWER = `
      delete from instep.questions
       where kind = 'first-subscriptions'
         and subject = $1`;

const SET_CUSTOMER = ({ teams: { table } }: ApplicationTables) => `
      update ${table.name}
         set ${table.customerId} = $2${table.updatedAt === null ? '' : `, ${table.updatedAt} = now()`}
       where ${table.id.column} = ${idFrom(table.id.type, '$1::text')}
      returning ${table.id.column} as id`;

// Another transaction of the app can hold the team, or the customer in a unique index: whatever else needs a connection
// would wait with the link.
const LIMIT_WAIT = `select set_config('lock_timeout', '250ms', true)`;

/**
 * Locks a team to link it, until the transaction ends; `null`: there is none. From here on, the transaction waits for others
 * for a moment only.
 *
 * @throws as `lockTeam`
 */
async function lockTeamToLink(query: Query, id: ApplicationId, lock: TeamLock) {
  await query({ name: 'limit_wait', text: LIMIT_WAIT });
  return await lockTeam(query, id, lock);
}

const notLinked = () =>
  new DatabaseRefused(
    'the link was not written: a trigger, a policy or a view of the app skipped it',
  );

/**
 * Gives a locked team a customer or none. @throws DatabaseRefused when another team is linked to the customer, or the
 * application skips the update; DatabaseBusy when another transaction links the customer
 */
export async function setCustomer(
  query: Query,
  id: ApplicationId,
  customerId: string | null,
): Promise<void> {
  const [rows] = await Promise.all([
    query({ name: 'set_customer', text: SET_CUSTOMER, values: [id, customerId] }),
    // Stripe is asked about the customer again, whatever it has answered while a former team had it. Not in one statement,
    // because a rule of the application can make several of the update, which then can't be one with another.
    query({ name: 'forget_answer', text: FORGET_ANSWER, values: [customerId] }),
  ]);
  if (rows.length === 0) throw notLinked();
}

/** Why a team can't be linked to a customer. */
export type LinkRefusal =
  | 'no such team'
  | 'team has another customer'
  | 'customer has another team';

// Two teams can be linked to one customer at the same moment, and not every application has a unique index. Nothing
// waits here, so that two transactions that link the same customers never deadlock.
const LOCK_CUSTOMER_TO_LINK = `select pg_try_advisory_xact_lock(hashtextextended('instep link ' || $1, 0)) as "isFree"`;

/**
 * Links a team to a customer in a transaction, if the team has no customer and the customer no team. A team that
 * has the customer already is `linked`; `locked`: another transaction links the customer.
 *
 * @throws DatabaseRefused when the application refuses the link, or row level security hides the team from updates; DatabaseBusy
 * when another transaction has locked the team
 */
export async function linkAvailableTeam(
  query: Query,
  id: ApplicationId,
  customerId: string,
): Promise<'linked' | 'locked' | LinkRefusal> {
  const [customer] = await query<{ isFree: boolean }>({
    name: 'lock_customer_to_link',
    text: LOCK_CUSTOMER_TO_LINK,
    values: [customerId],
  });
  if (customer?.isFree !== true) return 'locked';
  const team = await lockTeamToLink(query, id, 'update nowait');
  if (team === null) return 'no such team';
  if (team.customerId === customerId) return 'linked';
  if (team.customerId !== null) return 'team has another customer';
  if ((await readTeamsOf(query, [customerId])).length > 0) return 'customer has another team';
  await setCustomer(query, id, customerId);
  return 'linked';
}
