// The names of products, `instep.products`, and the teams that have them. The ingest pipeline reads names, maintenance
// looks them up and applies them.

import type { ApplicationId } from '../application.ts';
import type { Query } from '../database.ts';
import { isUntranslatable } from '../errors.ts';
import { type Examined, examineTeams } from '../examine.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';
import { keepsPlanName } from '../teams-table.ts';
import { type TeamRow, teamColumns, toTeam } from './teams.ts';
import { writePlan } from './write-plan.ts';

/** The known names of these products. */
export async function readProductNames(
  query: Query,
  productIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await query<{ productId: string; name: string }>({
    name: 'read_product_names',
    text: `
      select product_id as "productId", name
        from instep.products
       where product_id = any ($1::text[])
         and name is not null`,
    values: [productIds],
  });
  return new Map(rows.map(({ productId, name }) => [productId, name]));
}

/**
 * Stores the name that Stripe's API returned for a product. If it is `null`, a known name stays. A new name
 * is then due to be applied to the product's teams. Returns whether there is a name: one that the database's encoding
 * can't represent counts as none.
 */
export async function writeProductName(
  query: Query,
  productId: string,
  name: string | null,
): Promise<boolean> {
  try {
    await query({
      name: 'write_product_name',
      text: WRITE_PRODUCT_NAME,
      values: [productId, name],
    });
    return name !== null;
  } catch (error) {
    if (!isUntranslatable(error)) throw error;
    return await writeProductName(query, productId, null);
  }
}

const WRITE_PRODUCT_NAME = `
      insert into instep.products as product (product_id, name, looked_up_at)
      values ($1, $2, now())
          on conflict (product_id) do update
         set name         = coalesce(excluded.name, product.name),
             looked_up_at = excluded.looked_up_at,
             former_names = case
                              when product.name <> excluded.name
                                then array_remove(product.former_names, excluded.name)
                                  || product.name
                              else product.former_names
                            end,
             is_applied   = product.is_applied
                            and product.name = coalesce(excluded.name, product.name)`;

/** Stores products without a name, for maintenance to look up. */
export async function storeNamelessProducts(
  query: Query,
  productIds: readonly string[],
): Promise<void> {
  await query({
    name: 'store_nameless_products',
    text: 'insert into instep.products (product_id) select unnest($1::text[]) on conflict do nothing',
    values: [[...productIds].sort()],
  });
}

/** A product with a name that not all of its teams have. */
export type UnappliedName = {
  readonly productId: string;
  readonly name: string;
  /**
   * Whether it was looked up more than a minute ago. Until then, an instance can remember the former name, or that
   * there is none, and write it to a team.
   */
  readonly isKnownEverywhere: boolean;
};

export async function readUnappliedNames(query: Query): Promise<UnappliedName[]> {
  return await query<UnappliedName>({
    name: 'read_unapplied_names',
    text: `
      select product_id as "productId",
             name,
             coalesce(looked_up_at < now() - interval '1 minute', false) as "isKnownEverywhere"
        from instep.products
       where name is not null
         and not is_applied`,
  });
}

/** In a column that can't be null, the name of another plan can have stayed, which the customer's row lacks. */
const needsName = ({ teams: { table } }: ApplicationTables) => `
  teams.provider_product_id = product.product_id
  and (teams.plan_name is null
       or teams.plan_name = any (product.former_names)
       ${keepsPlanName(table) ? `or teams.plan_name <> product.name and ${IS_NAMELESS}` : ''})`;

const IS_NAMELESS = `exists (
         select
           from instep.customers
          where customer_id = teams.provider_customer_id
            and customers.provider_product_id = product.product_id
            and customers.plan_name is null
       )`;

/** Those of the next teams that have this product, and no name or a former one. */
export async function readTeamsToName(
  query: Query,
  productId: string,
  afterId: ApplicationId | null,
): Promise<Examined<ApplicationId>> {
  const { found, examinedTo } = await examineTeams<{ id: ApplicationId }>(query, {
    name: 'read_teams_to_name',
    found: (tables) => `found as (
        select teams.id
          from instep.products as product
          join examined as teams on ${needsName(tables)}
         where product.product_id = $2
         order by teams.id
      )`,
    values: [productId],
    afterId,
  });
  return { found: found.map(({ id }) => id), examinedTo };
}

const LOCK_TEAM_TO_NAME = (tables: ApplicationTables) => `
      select ${teamColumns(tables.teams)}, product.name as "productName"
        from instep.products as product
        join ${tables.teams.rows} as teams on ${needsName(tables)}
       where product.product_id = $1
         and teams.id = ${idFrom(tables.teams.idType, '$2::text')}
         for no key update of teams skip locked`;

/**
 * Writes a product's name in a transaction to a team that has no name or a former one. Returns whether it did: not while
 * another transaction has locked the team.
 *
 * @throws DatabaseRefused when the application refuses or skips the update
 */
export async function applyProductName(
  query: Query,
  productId: string,
  teamId: ApplicationId,
): Promise<boolean> {
  const [row] = await query<TeamRow & { productName: string }>({
    name: 'lock_team_to_name',
    text: LOCK_TEAM_TO_NAME,
    values: [productId, teamId],
  });
  if (row === undefined) return false;
  const { productName: planName, ...columns } = row;
  const team = toTeam(columns);
  const shouldBe = { ...team.plan, planName };
  await writePlan(query, { team, shouldBe, cause: 'name' });
  return true;
}

/**
 * Marks a product's name as applied: the teams that lack it keep theirs, because the database refuses it. Another name that
 * was looked up meanwhile is not.
 */
export async function storeAppliedName(
  query: Query,
  { productId, name }: Pick<UnappliedName, 'productId' | 'name'>,
): Promise<void> {
  await query({
    name: 'store_applied_name',
    text: `
      update instep.products
         set is_applied   = true,
             former_names = '{}'
       where product_id = $1
         and name = $2
         and looked_up_at < now() - interval '1 minute'`,
    values: [productId, name],
  });
}
