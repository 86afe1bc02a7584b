// The names of products, `instep.products`. The ingest pipeline reads them, and maintenance looks them up.

import type { Query } from '../database.ts';

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

/** Stores the name that Stripe's API returned for a product. If it is `null`, a known name stays. */
export async function writeProductName(
  query: Query,
  productId: string,
  name: string | null,
): Promise<void> {
  await query({
    name: 'write_product_name',
    text: `
      insert into instep.products as product (product_id, name, looked_up_at)
      values ($1, $2, now())
          on conflict (product_id) do update
         set name         = coalesce(excluded.name, product.name),
             looked_up_at = excluded.looked_up_at`,
    values: [productId, name],
  });
}

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
