import type { Query } from '../postgres/database.ts';

/** The name of a product, or `null` when nobody has told it yet. */
export async function readProductName(query: Query, productId: string): Promise<string | null> {
  const [row] = await query<{ name: string | null }>(
    `select name
       from instep.products
      where product_id = $1`,
    [productId],
  );
  return row?.name ?? null;
}

/** The names of these products, as far as anybody has told them. */
export async function readProductNames(
  query: Query,
  productIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await query<{ product_id: string; name: string }>(
    `select product_id, name
       from instep.products
      where product_id = any ($1::text[])
        and name is not null`,
    [productIds],
  );
  return new Map(rows.map((row) => [row.product_id, row.name]));
}

/**
 * Remembers what Stripe's API said of a product: its name, or `null` when it has none. A name that
 * is known is not forgotten. Returns the name that the product had before.
 */
export async function writeProductName(
  query: Query,
  productId: string,
  name: string | null,
): Promise<string | null> {
  const [row] = await query<{ name: string | null }>(
    `with before as (
       select name
         from instep.products
        where product_id = $1
     ), written as (
       insert into instep.products as product (product_id, name, looked_up_at)
       values ($1, $2, now())
           on conflict (product_id) do update
          set name         = coalesce(excluded.name, product.name),
              looked_up_at = excluded.looked_up_at
     )
     select name from before`,
    [productId, name],
  );
  return row?.name ?? null;
}

/** Remembers products that have no name, for the keeper to find one. */
export async function noteNamelessProducts(
  query: Query,
  productIds: readonly string[],
): Promise<void> {
  await query(
    `insert into instep.products (product_id)
     select unnest($1::text[])
         on conflict do nothing`,
    [[...productIds].sort()],
  );
}

/**
 * Products to ask Stripe's API for: first those without a name that were not asked for within the
 * last hour, then those whose name may have changed, because it is nearly a day old.
 */
export async function readProductsToLookUp(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ product_id: string }>(
    `(select product_id
        from instep.products
       where name is null
         and coalesce(looked_up_at, '-infinity') < now() - interval '1 hour'
       limit $1)
      union all
     (select product_id
        from instep.products
       where name is not null
         and looked_up_at < now() - interval '20 hours'
       order by looked_up_at
       limit $1)
      limit $1`,
    [limit],
  );
  return rows.map((row) => row.product_id);
}

/**
 * The products whose name was learned a moment ago: a transaction that began before it may have
 * written a team without it since.
 */
export async function readFreshNames(query: Query): Promise<{ productId: string; name: string }[]> {
  return await query<{ productId: string; name: string }>(
    `select product_id as "productId", name
       from instep.products
      where name is not null
        and looked_up_at > now() - interval '1 minute'`,
  );
}
