import type { TeamPlan } from '../core/transition.ts';
import type { Query } from '../postgres/database.ts';

/** A team, as far as Instep is concerned: whom it follows, and the plan it has. */
export type Team = {
  readonly id: number;
  readonly customerId: string | null;
  readonly plan: TeamPlan;
};

export type LinkedTeam = Team & { readonly customerId: string };

export type TeamRow = {
  id: number;
  provider_customer_id: string | null;
  provider_subscription_id: string | null;
  provider_product_id: string | null;
  plan_name: string | null;
  subscription_status: string | null;
};

/** The contract's columns, and no others, so that a view can stand in for the table. */
const COLUMNS = `
  id,
  provider_customer_id,
  provider_subscription_id,
  provider_product_id,
  plan_name,
  subscription_status`;

type LinkedTeamRow = TeamRow & { provider_customer_id: string };

type HeldTeamRow = { id: null; asked_customer_id: string };

/**
 * The teams of these customers, locked until the transaction ends, in the order of their ids, so
 * that two transactions that need the same teams wait for each other and never deadlock.
 */
export async function lockTeams(
  query: Query,
  customerIds: readonly string[],
): Promise<LinkedTeam[]> {
  // `no key update`, not `update`: an application that inserts rows which refer to the team takes
  // a key-share lock, and has no reason to wait.
  const rows = await query<LinkedTeamRow>(
    `select ${COLUMNS}
       from teams
      where provider_customer_id = any ($1::text[])
      order by id
        for no key update`,
    [customerIds],
  );
  return rows.map(toLinkedTeam);
}

/** What could be locked without waiting. */
export type FreeTeams = {
  readonly teams: readonly LinkedTeam[];
  /** Those of whom somebody else holds a team. */
  readonly heldCustomerIds: ReadonlySet<string>;
};

/** The teams of these customers that nobody else holds, locked until the transaction ends. */
export async function lockFreeTeams(
  query: Query,
  customerIds: readonly string[],
): Promise<FreeTeams> {
  // What `free` says of a team is newer than what `teams` says: it was read under the lock.
  const rows = await query<LinkedTeamRow | HeldTeamRow>(
    `with free as (
       select ${COLUMNS}
         from teams
        where provider_customer_id = any ($1::text[])
        order by id
          for no key update skip locked
     )
     select teams.provider_customer_id as asked_customer_id, free.*
       from teams
       left join free on free.id = teams.id
      where teams.provider_customer_id = any ($1::text[])
      order by teams.id`,
    [customerIds],
  );
  const heldCustomerIds = new Set(
    rows.flatMap((row) => (row.id === null ? [row.asked_customer_id] : [])),
  );
  const teams = rows.flatMap((row) => (row.id === null ? [] : [toLinkedTeam(row)]));
  return {
    teams: teams.filter(({ customerId }) => !heldCustomerIds.has(customerId)),
    heldCustomerIds,
  };
}

/** Writes the plans of teams that are locked. Other columns are the application's. */
export async function writePlans(
  query: Query,
  plans: ReadonlyMap<number, TeamPlan>,
): Promise<void> {
  const rows = [...plans].sort(([a], [b]) => a - b);
  await query(
    `update teams
        set provider_subscription_id = plan.subscription_id,
            provider_product_id      = plan.product_id,
            plan_name                = plan.name,
            subscription_status      = plan.status
       from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
         as plan (team_id, subscription_id, product_id, name, status)
      where teams.id = plan.team_id`,
    [
      rows.map(([teamId]) => teamId),
      rows.map(([, plan]) => plan.providerSubscriptionId),
      rows.map(([, plan]) => plan.providerProductId),
      rows.map(([, plan]) => plan.planName),
      rows.map(([, plan]) => plan.subscriptionStatus),
    ],
  );
}

/**
 * Gives the teams of a product its name: those without one, and those with the name that it had
 * before. Returns their ids.
 */
export async function renamePlans(
  query: Query,
  product: { readonly id: string; readonly name: string; readonly formerName: string | null },
): Promise<number[]> {
  // Locked in the order of ids, as `lockTeams` does, so that the two never deadlock.
  const rows = await query<{ id: number }>(
    `with nameless as (
       select id
         from teams
        where provider_product_id = $1
          and plan_name is distinct from $2
          and (plan_name is null or plan_name = $3)
        order by id
          for no key update
     )
     update teams
        set plan_name = $2
       from nameless
      where teams.id = nameless.id
     returning teams.id`,
    [product.id, product.name, product.formerName],
  );
  return rows.map(({ id }) => id);
}

/** Teams that have a customer, after this id, in the order of their ids. */
export async function readLinkedTeams(
  query: Query,
  page: { readonly afterId: number; readonly limit: number; readonly teamId?: number | undefined },
): Promise<LinkedTeam[]> {
  const rows = await query<LinkedTeamRow>(
    `select ${COLUMNS}
       from teams
      where id > $1
        and ($2::bigint is null or id = $2)
        and provider_customer_id is not null
      order by id
      limit $3`,
    [page.afterId, page.teamId ?? null, page.limit],
  );
  return rows.map(toLinkedTeam);
}

/** How many teams have a customer. */
export async function countLinkedTeams(query: Query): Promise<number> {
  const [row] = await query<{ count: number }>(
    `select count(*) as count
       from teams
      where provider_customer_id is not null`,
  );
  return row?.count ?? 0;
}

/** The teams of these customers, in the order of their ids. */
export async function readTeamsOf(
  query: Query,
  customerIds: readonly string[],
): Promise<LinkedTeam[]> {
  const rows = await query<LinkedTeamRow>(
    `select ${COLUMNS}
       from teams
      where provider_customer_id = any ($1::text[])
      order by id`,
    [customerIds],
  );
  return rows.map(toLinkedTeam);
}

/** The team of this id, or `null`. */
export async function readTeam(query: Query, id: number): Promise<Team | null> {
  const [row] = await query<TeamRow>(
    `select ${COLUMNS}
       from teams
      where id = $1`,
    [id],
  );
  return row === undefined ? null : toTeam(row);
}

/** Adds a team, and returns its id. @throws DatabaseRefused when another team has the customer */
export async function addTeam(
  query: Query,
  team: { readonly name: string; readonly customerId: string | null },
): Promise<number> {
  const [row] = await query<{ id: number }>(
    `insert into teams (name, provider_customer_id)
     values ($1, $2)
     returning id`,
    [team.name, team.customerId],
  );
  if (row === undefined) throw new RangeError('the inserted team was not returned');
  return row.id;
}

/**
 * Makes a team follow a customer. Returns whether there is such a team.
 *
 * @throws DatabaseRefused when another team has the customer
 */
export async function linkTeam(query: Query, id: number, customerId: string): Promise<boolean> {
  const rows = await query(
    `update teams
        set provider_customer_id = $2
      where id = $1
     returning id`,
    [id, customerId],
  );
  return rows.length > 0;
}

function toLinkedTeam(row: LinkedTeamRow): LinkedTeam {
  return { id: row.id, customerId: row.provider_customer_id, plan: toPlan(row) };
}

export function toTeam(row: TeamRow): Team {
  return { id: row.id, customerId: row.provider_customer_id, plan: toPlan(row) };
}

function toPlan(row: TeamRow): TeamPlan {
  return {
    providerSubscriptionId: row.provider_subscription_id,
    providerProductId: row.provider_product_id,
    planName: row.plan_name,
    subscriptionStatus: row.subscription_status,
  };
}
