import type { Query } from '../../postgres/database.ts';
import type { RecognizedTable } from '../../postgres/tables/recognize-tables.ts';

/**
 * The statement that creates the index for finding the team of a customer; `null` when there is one. A view
 * is assumed to have one.
 */
export async function missingCustomerIndex(
  query: Query,
  { table, columns }: RecognizedTable,
): Promise<string | null> {
  const customer = columns.find(({ field }) => field === 'providerCustomerId');
  const [row] = await query<{ statement: string }>({
    name: 'missing_customer_index',
    text: `
      select format('create index concurrently on %I.%I (%I);', nspname, relname, $3::name)
               as statement
        from pg_class
        join pg_namespace on pg_namespace.oid = relnamespace
       where nspname = $1
         and relname = $2
         and relkind in ('r', 'p')
         and not exists (
               select
                 from pg_index
                 join pg_attribute on attrelid = indrelid and attnum = indkey[0]
                where indrelid = pg_class.oid
                  and attname = $3
                  and indisvalid
                  and (indpred is null
                       or pg_get_expr(indpred, indrelid) = format('(%I IS NOT NULL)', attname))
             )`,
    values: [table.schema, table.name, customer?.name],
  });
  return row?.statement ?? null;
}
