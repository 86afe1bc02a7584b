// The names of products, for lists that have only their ids. The console's pages call it.

import type { OperateContext } from './context.ts';

/**
 * The names of those of the products that have one.
 *
 * @example
 * ```ts
 * const names = await readProductNames(context, ['prod_123']);
 * console.log(names.get('prod_123')); // undefined
 * ```
 */
export async function readProductNames(
  { database: { query } }: Pick<OperateContext, 'database'>,
  productIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await query<{ id: string; name: string }>({
    name: 'read_product_names',
    text: `
      select product_id as id, name
        from instep.products
       where product_id = any ($1::text[])
         and name is not null`,
    values: [productIds],
  });
  return new Map(rows.map(({ id, name }) => [id, name]));
}
