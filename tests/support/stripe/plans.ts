import type { ApplicationTables } from 'instep-engine/postgres';
import type { Database, Query } from '../internals/database.ts';

/**
 * The indexes that the statements of this work use, with custom and generic plans, and for example `all of
 * events` if a statement scans that whole table.
 */
export async function indexesUsed(
  database: Database,
  work: (query: Query) => Promise<unknown>,
): Promise<Set<string>> {
  const plans: string[] = [];
  const explaining: Query = async (statement) => {
    if (typeof statement === 'string') throw new TypeError('a statement without a name');
    const { values = [] } = statement;
    let text = '';
    const toText = (tables: ApplicationTables) => {
      text = typeof statement.text === 'string' ? statement.text : statement.text(tables);
      return 'select';
    };
    await database.query({ name: 'text_of_statement', text: toText });
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      await database.transaction(async (query) => {
        await query(`set local plan_cache_mode = ${mode}`);
        // The tables of a test are so small that reading all of one is the fastest.
        await query('set local enable_seqscan = off');
        await query(`prepare asked as ${text}`);
        const given = values.map(literal).join(', ');
        plans.push(JSON.stringify(await query(`explain (format json) execute asked (${given})`)));
        await query('deallocate asked');
      });
    }
    return await database.query(statement);
  };
  await work(explaining);
  const used = plans.join().matchAll(/Seq Scan"[^{}]*?"Relation Name":"(\w+)|"Index Name":"(\w+)/g);
  return new Set([...used].map(([, table, index]) => index ?? `all of ${table}`));
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `'{${value.map((one) => JSON.stringify(one)).join()}}'`;
  if (value === null) return 'null';
  return value instanceof Date ? `'${value.toISOString()}'` : `'${String(value)}'`;
}
