import { hash } from 'node:crypto';
import { sqlState } from './errors.ts';

/**
 * Names for statements, so that each connection has PostgreSQL parse and plan each of them once.
 * Older poolers (PgBouncer before 1.21, in transaction mode) hand every transaction another
 * connection, which knows no such name; and whoever alters a table leaves us with names of statements
 * that do not fit it. After the first error that says so there are no names any more.
 */
export class StatementNames {
  #names: Map<string, string> | null = new Map();

  /** Made of the text alone: whoever else has prepared the name has prepared the same. */
  nameOf(statement: string): string | undefined {
    if (this.#names === null) return undefined;
    const known = this.#names.get(statement);
    if (known !== undefined) return known;
    const name = `instep_${hash('sha256', statement).slice(0, 16)}`;
    this.#names.set(statement, name);
    return name;
  }

  /** Whether the error came of a name. From then on there are no names. */
  areMisunderstood(error: unknown): boolean {
    if (!(error instanceof Error && MISUNDERSTOOD.has(sqlState(error.cause)))) return false;
    this.#names = null;
    return true;
  }
}

/** No such prepared statement; one of the name already; one whose columns are other ones now. */
const MISUNDERSTOOD = new Set(['26000', '42P05', '0A000']);
