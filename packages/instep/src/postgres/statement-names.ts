import { hash } from 'node:crypto';
import { sqlState } from './errors.ts';

/**
 * The names under which statements are prepared. A pooler that does not support prepared statements
 * (PgBouncer before 1.21, in transaction mode) gives every transaction another connection, where the name is
 * unknown; and a prepared statement no longer fits a table that was altered. After the first such error,
 * statements are no longer prepared.
 */
export class StatementNames {
  #names: Map<string, string> | null = new Map();

  /**
   * The name to prepare a statement under. It contains a hash of the text, so that a connection shared by
   * several clients never runs another version's statement of the same name.
   */
  nameOf(name: string, text: string): string | undefined {
    if (this.#names === null) return undefined;
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const prepared = `instep_${name}_${hash('sha256', text).slice(0, 16)}`;
    this.#names.set(text, prepared);
    return prepared;
  }

  /** Stops preparing statements if a prepared one caused the error, and returns whether it did. */
  disableAfter(error: unknown): boolean {
    if (!(error instanceof Error && PREPARED_STATEMENT_STATES.has(sqlState(error.cause)))) {
      return false;
    }
    this.#names = null;
    return true;
  }
}

/** No statement of this name; one exists already; one whose columns have changed. */
const PREPARED_STATEMENT_STATES = new Set(['26000', '42P05', '0A000']);
