import type { ApplicationTables } from 'instep-engine/postgres';
import type { Database, Query } from '../internals/database.ts';

type Work = (query: Query) => Promise<unknown>;

/**
 * The indexes that the statements of this work use, with custom and generic plans, and for example `all of
 * events` if a statement scans that whole table.
 */
export async function indexesUsed(database: Database, work: Work): Promise<Set<string>> {
  const plans = await plansOf(database, work, 'format json');
  const used = plans.join().matchAll(/Seq Scan"[^{}]*?"Relation Name":"(\w+)|"Index Name":"(\w+)/g);
  return new Set([...used].map(([, table, index]) => index ?? `all of ${table}`));
}

/** How many rows of this table a statement of this work reads at most, with custom and generic plans. */
export async function rowsRead(database: Database, table: string, work: Work): Promise<number> {
  const plans = await plansOf(database, work, 'analyze, timing off, format json');
  const readBy = (plan: Plan): number => {
    const ownRows =
      (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
    const own = plan['Relation Name'] === table ? ownRows : 0;
    return (plan.Plans ?? []).reduce((sum, part) => sum + readBy(part), own);
  };
  return Math.max(...plans.map((plan) => readBy(JSON.parse(plan)[0]['QUERY PLAN'][0].Plan)));
}

type Plan = {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
};

async function plansOf(database: Database, work: Work, options: string): Promise<string[]> {
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
        plans.push(JSON.stringify(await query(`explain (${options}) execute asked (${given})`)));
        await query('deallocate asked');
      });
    }
    return await database.query(statement);
  };
  await work(explaining);
  return plans;
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `'{${value.map((one) => JSON.stringify(one)).join()}}'`;
  if (value === null) return 'null';
  return value instanceof Date ? `'${value.toISOString()}'` : `'${String(value)}'`;
}
