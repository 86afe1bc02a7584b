// Locks teams, for those who then decide their plans, and links them to customers.

import type { ApplicationId } from '../../core/application.ts';
import type { Query } from '../database.ts';
import { DatabaseRefused, sqlState } from '../errors.ts';
import type { NamedStatement } from '../statement.ts';
import { type ApplicationTables, regclass } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import {
  type LinkedTeam,
  readTeam,
  readTeamsOf,
  TEAM_COLUMNS,
  type Team,
  type TeamRow,
  toTeam,
} from './teams.ts';

/** What a lock does when another transaction has the row: wait, leave it out, or fail. */
type IfLocked = '' | 'skip locked' | 'nowait';

// `no key update` rather than `update`: an application that inserts rows which reference a team takes a
// key-share lock, and need not wait. The columns of `locked` are newer than those of `teams`: they were read under
// the lock.
const lockTeamsText =
  (ifLocked: IfLocked) =>
  ({ teams }: ApplicationTables) =>
    `
      with locked as (
        select ${TEAM_COLUMNS}
          from ${teams.rows} as teams
         where provider_customer_id = any ($1::text[])
         order by id
           for no key update ${ifLocked}
      )
      select locked.*,
             teams.provider_customer_id as "askedCustomerId",
             case
               when locked.id is null then ${canBeHidden(teams.name, ifLocked)}
             end as "canBeHidden"
        from ${teams.rows} as teams
        left join locked on locked.id = teams.id
       where teams.provider_customer_id = any ($1::text[])
       order by teams.id`;

/**
 * If the teams are a view, only the table below it knows its policies. Where no lock is waited for, the row is then tried
 * once more.
 */
const canBeHidden = (name: string, ifLocked: IfLocked) =>
  `row_security_active(${regclass(name)})${
    ifLocked === 'skip locked'
      ? ` or (select relkind = 'v' from pg_class where oid = ${regclass(name)})`
      : ''
  }`;

const LOCK_TEAMS = lockTeamsText('');
const LOCK_AVAILABLE_TEAMS = lockTeamsText('skip locked');
const LOCK_TEAMS_AT_ONCE = lockTeamsText('nowait');

type LockedRow = ({ id: null } | TeamRow<string>) & {
  askedCustomerId: string;
  /** Whether row level security can be why the row was not locked; `null` for a locked row. */
  canBeHidden: boolean | null;
};

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
  if (rows.some(({ canBeHidden }) => canBeHidden)) throw hiddenFromUpdates();
  return rows.flatMap(toLockedTeam);
}

/** The teams that could be locked without waiting. */
export type AvailableTeams = {
  readonly teams: readonly LinkedTeam[];
  /** The customers with a team that another transaction has locked. */
  readonly lockedElsewhere: ReadonlySet<string>;
};

/**
 * The teams of these customers that no other transaction holds, locked until this one ends.
 *
 * @throws DatabaseRefused when row level security hides one of them from updates
 */
export async function lockAvailableTeams(
  query: Query,
  customerIds: readonly string[],
): Promise<AvailableTeams> {
  const rows = await query<LockedRow>({
    name: 'lock_available_teams',
    text: LOCK_AVAILABLE_TEAMS,
    values: [customerIds],
  });
  const notLocked = rows.filter(({ id }) => id === null);
  const lockedElsewhere = new Set(notLocked.map(({ askedCustomerId }) => askedCustomerId));
  if (notLocked.some(({ canBeHidden }) => canBeHidden)) {
    for (const customerId of lockedElsewhere) {
      const lockAtOnce = { name: 'lock_teams_at_once', text: LOCK_TEAMS_AT_ONCE };
      const locking = { ...lockAtOnce, values: [[customerId]] };
      await refuseHidden<LockedRow>(query, locking, (rows) => rows.some(({ id }) => id === null));
    }
  }
  const teams = rows
    .flatMap(toLockedTeam)
    .filter(({ customerId }) => !lockedElsewhere.has(customerId));
  return { teams, lockedElsewhere };
}

const LOCK_TEAM = ({ teams }: ApplicationTables) => `
      select ${TEAM_COLUMNS}
        from ${teams.rows} as teams
       where id = ${idFrom(teams.idType, '$1::text')}`;

/** `update` is to link a team, because the column has a unique index in most applications. */
type TeamLock = 'update' | 'no key update';

const lockTeamFor = (id: ApplicationId, lock: string): NamedStatement => ({
  name: `lock_team for ${lock}`,
  text: (tables) => `${LOCK_TEAM(tables)} for ${lock}`,
  values: [id],
});

/**
 * The team with this id, locked until the transaction ends; `null`: there is none.
 *
 * @throws DatabaseRefused when row level security hides it from updates
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

/** The same without waiting; `locked`: another transaction has locked it. @throws DatabaseRefused as above */
export async function lockAvailableTeam(
  query: Query,
  id: ApplicationId,
  lock: TeamLock,
): Promise<Team | 'locked' | null> {
  const [row] = await query<TeamRow>(lockTeamFor(id, `${lock} skip locked`));
  if (row !== undefined) return toTeam(row);
  if ((await readTeam(query, id)) === null) return null;
  await refuseHidden(query, lockTeamFor(id, `${lock} nowait`), (rows) => rows.length === 0);
  return 'locked';
}

function toLockedTeam({ askedCustomerId: _, canBeHidden: __, ...row }: LockedRow): LinkedTeam[] {
  return row.id === null ? [] : [toTeam(row)];
}

/**
 * `skip locked` leaves out hidden rows too, but `nowait` fails only for a row that is locked.
 *
 * @throws DatabaseRefused when this statement with `nowait` leaves out a row
 */
async function refuseHidden<Row extends object>(
  query: Query,
  lockAtOnce: NamedStatement,
  isLeftOut: (rows: readonly Row[]) => boolean,
): Promise<void> {
  await query('savepoint before_lock');
  try {
    if (isLeftOut(await query<Row>(lockAtOnce))) throw hiddenFromUpdates();
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    await query('rollback to savepoint before_lock');
  }
}

const LOCK_NOT_AVAILABLE = '55P03';

const hiddenFromUpdates = () =>
  new DatabaseRefused(
    'row level security hides the team from updates: `instep tables` prints the policy to create',
  );

const FORGET_ANSWER = 'delete from instep.new_customers where customer_id = $1';

const SET_CUSTOMER = ({ teams: { name, column, idType, setUpdatedAt } }: ApplicationTables) => `
      update ${name}
         set ${column('providerCustomerId')} = $2${setUpdatedAt}
       where ${column('id')} = ${idFrom(idType, '$1::text')}
      returning ${column('id')} as id`;

// Another transaction of the app can hold the customer in a unique index: everything in this one would wait with the link.
const LIMIT_WAIT = `
      select set_config('instep.lock_timeout', current_setting('lock_timeout'), true),
             set_config('lock_timeout', '250ms', true)`;

const UNLIMIT_WAIT = `select set_config('lock_timeout', current_setting('instep.lock_timeout'), true)`;

export const notLinked = () =>
  new DatabaseRefused('the link was not written: skipped by a policy, a rule or a trigger');

/**
 * Gives a locked team a customer or none. @throws DatabaseRefused when another team is linked to the customer, or the
 * application skips the update; DatabaseBusy when another transaction links the customer
 */
export async function setCustomer(
  query: Query,
  id: ApplicationId,
  customerId: string | null,
): Promise<void> {
  const [, rows] = await Promise.all([
    query({ name: 'limit_wait', text: LIMIT_WAIT }),
    query({ name: 'set_customer', text: SET_CUSTOMER, values: [id, customerId] }),
    query({ name: 'unlimit_wait', text: UNLIMIT_WAIT }),
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
 * has the customer already is `linked`; `locked`: another transaction has locked the team, or links the customer.
 *
 * @throws DatabaseRefused when the application refuses the link, or row level security hides the team from updates
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
  const team = await lockAvailableTeam(query, id, 'update');
  if (team === 'locked') return team;
  if (team === null) return 'no such team';
  if (team.customerId === customerId) return 'linked';
  if (team.customerId !== null) return 'team has another customer';
  if ((await readTeamsOf(query, [customerId])).length > 0) return 'customer has another team';
  await setCustomer(query, id, customerId);
  return 'linked';
}
