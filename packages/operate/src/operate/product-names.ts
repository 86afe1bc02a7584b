// The names of products, for lists that have only their ids. The console's pages call it.

import { readProductNames as readNames } from 'instep-engine/postgres';
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
  { database }: Pick<OperateContext, 'database'>,
  productIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  return await readNames(database.query, productIds);
}
