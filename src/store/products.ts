import type { Query } from '../database/database.ts';

/** The name of a product, or `null` when nobody has told it yet. */
export async function readProductName(query: Query, productId: string): Promise<string | null> {
  const [row] = await query<{ name: string }>(
    `select name
       from instep.products
      where product_id = $1`,
    [productId],
  );
  return row?.name ?? null;
}

/** Remembers the name of a product. The later writer wins. */
export async function writeProductName(
  query: Query,
  productId: string,
  name: string,
): Promise<void> {
  await query(
    `insert into instep.products (product_id, name, looked_up_at)
     values ($1, $2, now())
         on conflict (product_id) do update
        set name         = excluded.name,
            looked_up_at = excluded.looked_up_at`,
    [productId, name],
  );
}
