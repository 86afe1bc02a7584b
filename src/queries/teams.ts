import type { TeamPlan } from '../core/transition.ts';
import type { Query } from '../postgres/database.ts';

/** A team as Instep sees it: its customer and its plan. */
export type Team = {
  readonly id: number;
  readonly customerId: string | null;
  readonly plan: TeamPlan;
};

export type LinkedTeam = Team & { readonly customerId: string };

/** The contract's columns and no others, so that a view can stand in for the table. */
export const TEAM = `
  id,
  provider_customer_id as "customerId",
  provider_subscription_id as "providerSubscriptionId",
  provider_product_id as "providerProductId",
  plan_name as "planName",
  subscription_status as "subscriptionStatus"`;

const PLAN_COLUMNS = [
  'provider_subscription_id',
  'provider_product_id',
  'plan_name',
  'subscription_status',
] as const;

/** The plan of a former customer goes with that customer. */
const KEEPS_PLAN = 'coalesce(provider_customer_id, $2) = $2';

export type TeamRow<CustomerId = string | null> = TeamPlan & {
  readonly id: number;
  readonly customerId: CustomerId;
};

/**
 * The teams of these customers, locked until the transaction ends, in the order of their ids, so
 * that two transactions that need the same teams wait for each other and never deadlock.
 */
export async function lockTeams(
  query: Query,
  customerIds: readonly string[],
): Promise<LinkedTeam[]> {
  const rows = await query<TeamRow<string>>({
    name: 'lock_teams',
    // `no key update` and not `update`: an application that inserts rows which refer to a team
    // takes a key-share lock, and has no reason to wait.
    text: `
      select ${TEAM}
        from teams
       where provider_customer_id = any ($1::text[])
       order by id
         for no key update`,
    values: [customerIds],
  });
  return rows.map(toTeam);
}

/** The teams that could be locked without waiting. */
export type FreeTeams = {
  readonly teams: readonly LinkedTeam[];
  /** The customers with a team that another transaction has locked. */
  readonly lockedCustomerIds: ReadonlySet<string>;
};

/** The teams of these customers that no other transaction holds, locked until this one ends. */
export async function lockFreeTeams(
  query: Query,
  customerIds: readonly string[],
): Promise<FreeTeams> {
  const rows = await query<
    ({ readonly id: null } | TeamRow<string>) & { readonly askedCustomerId: string }
  >({
    name: 'lock_free_teams',
    // The columns of `free` are newer than those of `teams`: they were read under the lock.
    text: `
      with free as (
        select ${TEAM}
          from teams
         where provider_customer_id = any ($1::text[])
         order by id
           for no key update skip locked
      )
      select free.*,
             teams.provider_customer_id as "askedCustomerId"
        from teams
        left join free on free.id = teams.id
       where teams.provider_customer_id = any ($1::text[])
       order by teams.id`,
    values: [customerIds],
  });
  const lockedCustomerIds = new Set(
    rows.flatMap(({ id, askedCustomerId }) => (id === null ? [askedCustomerId] : [])),
  );
  const teams = rows.flatMap(({ askedCustomerId: _, ...row }) =>
    row.id === null || lockedCustomerIds.has(row.customerId) ? [] : [toTeam(row)],
  );
  return { teams, lockedCustomerIds };
}

/** Writes the plans of teams that are locked. Other columns are the application's. */
export async function writePlans(
  query: Query,
  plans: ReadonlyMap<number, TeamPlan>,
): Promise<void> {
  const rows = [...plans].sort(([a], [b]) => a - b);
  await query({
    name: 'write_plans',
    text: `
      update teams
         set provider_subscription_id = plan.subscription_id,
             provider_product_id      = plan.product_id,
             plan_name                = plan.name,
             subscription_status      = plan.status
        from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
          as plan (team_id, subscription_id, product_id, name, status)
       where teams.id = plan.team_id`,
    values: [
      rows.map(([teamId]) => teamId),
      rows.map(([, plan]) => plan.providerSubscriptionId),
      rows.map(([, plan]) => plan.providerProductId),
      rows.map(([, plan]) => plan.planName),
      rows.map(([, plan]) => plan.subscriptionStatus),
    ],
  });
}

/** Customers with a known plan, and with a team whose plan columns are all empty. */
export async function readCustomersOfEmptyTeams(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ customerId: string }>({
    name: 'read_customers_of_empty_teams',
    text: `
      select distinct provider_customer_id as "customerId"
        from teams
       where provider_customer_id is not null
         and ${PLAN_COLUMNS.map((column) => `${column} is null`).join('\n         and ')}
         and exists (
               select
                 from instep.subscriptions
                where customer_id = teams.provider_customer_id
             )
       limit $1`,
    values: [limit],
  });
  return rows.map(({ customerId }) => customerId);
}

/** Teams with a customer, after this id, in the order of their ids. */
export async function readLinkedTeams(
  query: Query,
  page: { readonly afterId: number; readonly limit: number; readonly teamId?: number | undefined },
): Promise<LinkedTeam[]> {
  const rows = await query<TeamRow<string>>({
    name: 'read_linked_teams',
    text: `
      select ${TEAM}
        from teams
       where id > $1
         and ($2::bigint is null or id = $2)
         and provider_customer_id is not null
       order by id
       limit $3`,
    values: [page.afterId, page.teamId ?? null, page.limit],
  });
  return rows.map(toTeam);
}

export async function countLinkedTeams(query: Query): Promise<number> {
  const [row] = await query<{ count: number }>({
    name: 'count_linked_teams',
    text: 'select count(*) as count from teams where provider_customer_id is not null',
  });
  return row?.count ?? 0;
}

/** The teams of these customers, in the order of their ids. */
export async function readTeamsOf(
  query: Query,
  customerIds: readonly string[],
): Promise<LinkedTeam[]> {
  const rows = await query<TeamRow<string>>({
    name: 'read_teams_of',
    text: `
      select ${TEAM}
        from teams
       where provider_customer_id = any ($1::text[])
       order by id`,
    values: [customerIds],
  });
  return rows.map(toTeam);
}

/** The team with this id, or `null`. */
export async function readTeam(query: Query, id: number): Promise<Team | null> {
  const [row] = await query<TeamRow>({
    name: 'read_team',
    text: `
      select ${TEAM}
        from teams
       where id = $1`,
    values: [id],
  });
  return row === undefined ? null : toTeam(row);
}

/** Adds a team, and returns its id. @throws DatabaseRefused when another team has the customer */
export async function addTeam(
  query: Query,
  team: { readonly name: string; readonly customerId: string | null },
): Promise<number> {
  const [row] = await query<{ id: number }>({
    name: 'add_team',
    text: 'insert into teams (name, provider_customer_id) values ($1, $2) returning id',
    values: [team.name, team.customerId],
  });
  if (row === undefined) throw new RangeError('the inserted team was not returned');
  return row.id;
}

/**
 * Links a team to a customer. Returns whether the team exists.
 *
 * @throws DatabaseRefused when another team has the customer
 */
export async function linkTeam(query: Query, id: number, customerId: string): Promise<boolean> {
  const rows = await query({
    name: 'link_team',
    text: `
      update teams
         set provider_customer_id = $2,
             ${PLAN_COLUMNS.map((column) => `${column} = case when ${KEEPS_PLAN} then ${column} end`).join(',\n             ')}
       where id = $1
      returning id`,
    values: [id, customerId],
  });
  return rows.length > 0;
}

function toTeam<CustomerId>({ id, customerId, ...plan }: TeamRow<CustomerId>) {
  return { id, customerId, plan };
}
