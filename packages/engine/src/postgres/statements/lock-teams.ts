// Locks teams, for those who then decide their plans, and links them to customers.

import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import { DatabaseRefused } from '../errors.ts';
import type { NamedStatement } from '../named-statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import {
  type LinkedTeam,
  readTeam,
  readTeamsOf,
  type Team,
  type TeamRow,
  teamColumns,
  toTeam,
} from './teams.ts';

// `no key update` rather than `update`: an application that inserts rows which reference a team takes a
// key-share lock, and need not wait. The columns of `locked` are newer than those of `teams`: they were read under
// the lock.
const LOCK_TEAMS = ({ teams }: ApplicationTables) => `
      with locked as (
        select ${teamColumns(teams)}
          from ${teams.rows} as teams
         where provider_customer_id = any ($1::text[])
         order by id
           for no key update
      )
      select locked.*,
             teams.provider_customer_id as "askedCustomerId"
        from ${teams.rows} as teams
        left join locked on locked.id = teams.id
       where teams.provider_customer_id = any ($1::text[])
       order by teams.id`;

type LockedRow = ({ id: null } | TeamRow<string>) & { askedCustomerId: string };

/**
 * The teams of these customers, locked until the transaction ends, in the order of their ids, so
 * that two transactions that need the same teams wait for each other and never deadlock.
 *
 * @throws DatabaseRefused when row level security hides one of them from updates
 */
export async function lockTeams(
  query: Query,
  customerIds: readonly string[],
): Promise<LinkedTeam[]> {
  const rows = await query<LockedRow>({
    name: 'lock_teams',
    text: LOCK_TEAMS,
    values: [customerIds],
  });
  if (rows.some(({ id }) => id === null)) throw hiddenFromUpdates();
  return rows.flatMap(toLockedTeam);
}

const LOCK_TEAM = ({ teams }: ApplicationTables) => `
      select ${teamColumns(teams)}
        from ${teams.rows} as teams
       where id = ${idFrom(teams.idType, '$1::text')}`;

/**
 * How to lock a team: `update` to link it, because the column has a unique index in most applications. With `nowait`, it
 * is an error if another transaction has locked it.
 */
type TeamLock = 'no key update' | 'update' | 'update nowait';

const lockTeamFor = (id: ApplicationId, lock: string): NamedStatement => ({
  name: `lock_team for ${lock}`,
  text: (tables) => `${LOCK_TEAM(tables)} for ${lock}`,
  values: [id],
});

/**
 * The team with this id, locked until the transaction ends; `null`: there is none.
 *
 * @throws DatabaseRefused when row level security hides it from updates; DatabaseBusy
 */
export async function lockTeam(
  query: Query,
  id: ApplicationId,
  lock: TeamLock,
): Promise<Team | null> {
  const [row] = await query<TeamRow>(lockTeamFor(id, lock));
  if (row !== undefined) return toTeam(row);
  if ((await readTeam(query, id)) !== null) throw hiddenFromUpdates();
  return null;
}

function toLockedTeam({ askedCustomerId: _, ...row }: LockedRow): LinkedTeam[] {
  return row.id === null ? [] : [toTeam(row)];
}

const hiddenFromUpdates = () =>
  new DatabaseRefused(
    'row level security hides the team from updates: `instep tables` prints the policy to create',
  );

const FORGET_ANSWER = `
      delete from instep.questions
       where kind = 'first-subscriptions'
         and subject = $1`;

const SET_CUSTOMER = ({ teams: { name, column, idType, table } }: ApplicationTables) => `
      update ${name}
         set ${column('providerCustomerId')} = $2${table.updatedAt === null ? '' : `, ${table.updatedAt} = now()`}
       where ${column('id')} = ${idFrom(idType, '$1::text')}
      returning ${column('id')} as id`;

// Another transaction of the app can hold the team, or the customer in a unique index: whatever else needs a connection
// would wait with the link.
const LIMIT_WAIT = `select set_config('lock_timeout', '250ms', true)`;

/**
 * Locks a team to link it, until the transaction ends; `null`: there is none. From here on, the transaction waits for others
 * for a moment only.
 *
 * @throws as `lockTeam`
 */
export async function lockTeamToLink(
  query: Query,
  id: ApplicationId,
  lock: 'update' | 'update nowait',
): Promise<Team | null> {
  await query({ name: 'limit_wait', text: LIMIT_WAIT });
  return await lockTeam(query, id, lock);
}

export const notLinked = () =>
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
