/**
 * What a statement does, in few words: `insert instep.events`. Of several tables it names the one
 * that is written to, or else the one that is read first. A migration is what it begins with.
 */
export function summaryOf(statement: string): string {
  const [, first = 'statement'] = BEGINNING.exec(statement) ?? [];
  if (!NAMES_TABLE.has(first)) return first;
  const [, verb, written] = WRITING.exec(statement) ?? [];
  if (verb !== undefined && written !== undefined) return `${verb} ${written}`;
  const [, read] = READING.exec(statement) ?? [];
  return read === undefined ? first : `select ${read}`;
}

/** Comments may come before it. */
const BEGINNING = /^(?:[\s(]|--.*\n)*(\w+)/;

const NAMES_TABLE = new Set(['with', 'select', 'insert', 'update', 'delete', 'truncate']);

/** `for no key update` and `do update` name no table. */
const WRITING =
  /\b(?<!(?:for|key|do)\s+)(insert|update|delete|truncate)\s+(?:(?:into|from)\s+)?([\w.]+)/;

/** Neither a function that gives rows, nor `extract(epoch from …)`. */
const READING = /\b(?<!epoch\s+)(?:from|join)\s+(?!lateral\b)([\w.]+)\b(?!\s*\()/;
