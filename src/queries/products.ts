import type { Query } from '../postgres/database.ts';

/** The names of these products, as far as they are known. */
export async function readProductNames(
  query: Query,
  productIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await query<{ product_id: string; name: string }>({
    name: 'read_product_names',
    text: `
      select product_id, name
        from instep.products
       where product_id = any ($1::text[])
         and name is not null`,
    values: [productIds],
  });
  return new Map(rows.map((row) => [row.product_id, row.name]));
}

/** The name of a product, or `null` while it is unknown. */
export async function readProductName(query: Query, productId: string): Promise<string | null> {
  return (await readProductNames(query, [productId])).get(productId) ?? null;
}

/**
 * Remembers what Stripe's API returned for a product: its name, or `null` when it has none. A known
 * name is kept then. Returns the name that the product had before.
 */
export async function writeProductName(
  query: Query,
  productId: string,
  name: string | null,
): Promise<string | null> {
  const [row] = await query<{ name: string | null }>({
    name: 'write_product_name',
    text: `
      with before as (
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
    values: [productId, name],
  });
  return row?.name ?? null;
}

/** Remembers products without a name, for maintenance to look up. */
export async function noteNamelessProducts(
  query: Query,
  productIds: readonly string[],
): Promise<void> {
  await query({
    name: 'note_nameless_products',
    text: 'insert into instep.products (product_id) select unnest($1::text[]) on conflict do nothing',
    values: [[...productIds].sort()],
  });
}

/**
 * Products to look up in Stripe's API: first those without a name, once an hour, and then those
 * whose name is nearly a day old and may have changed.
 */
export async function readProductsToLookUp(query: Query, limit: number): Promise<string[]> {
  const rows = await query<{ product_id: string }>({
    name: 'read_products_to_look_up',
    text: `
      (select product_id
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
    values: [limit],
  });
  return rows.map((row) => row.product_id);
}

/**
 * The products whose name was learned a moment ago: a transaction that began before may have
 * written a team without the name since.
 */
export async function readFreshNames(query: Query): Promise<{ productId: string; name: string }[]> {
  return await query<{ productId: string; name: string }>({
    name: 'read_fresh_names',
    text: `
      select product_id as "productId", name
        from instep.products
       where name is not null
         and looked_up_at > now() - interval '1 minute'`,
  });
}
