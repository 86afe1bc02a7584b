import { DatabaseConflict, DatabaseUnusable, sqlState } from './errors.ts';
import type { Query, StatementText } from './statement.ts';
import type { ApplicationTables, DeclaredTables } from './tables/application-tables.ts';
import { findApplicationTables } from './tables/find-tables.ts';

/** A statement needs the application's tables, which are looked up before it is tried again. */
class TablesUnknown extends DatabaseConflict {}

/** The texts of the statements. Those with the application's tables are made once. */
export class StatementTexts {
  readonly #declared: DeclaredTables;
  #texts = new WeakMap<Exclude<StatementText, string>, string>();
  #tables: ApplicationTables | null = null;
  #areTablesNeeded = false;
  #finding: Promise<void> | null = null;
  /** The rows of the tables that turned out to be outdated. */
  #outdated: string | null = null;

  constructor(declared: DeclaredTables) {
    this.#declared = declared;
  }

  /** @throws DatabaseConflict when `prepare` has to run first */
  textOf(text: StatementText): string {
    if (typeof text === 'string') return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#tables === null) {
      this.#areTablesNeeded = true;
      throw new TablesUnknown("the application's tables are not known yet");
    }
    const made = text(this.#tables);
    this.#texts.set(text, made);
    return made;
  }

  /** Looks for the application's tables, once a statement has needed them. */
  async prepare(query: Query): Promise<void> {
    if (!this.#areTablesNeeded || this.#tables !== null) return;
    this.#finding ??= this.#find(query).finally(() => {
      this.#finding = null;
    });
    await this.#finding;
  }

  /**
   * Whether the error says that a table or column is gone, and the tables are looked for again: the
   * application's own migrations can rename them at any time.
   */
  haveCaused(error: unknown): boolean {
    if (this.#tables === null || !(error instanceof DatabaseUnusable)) return false;
    const rows = this.#tables.users.rows + this.#tables.teams.rows;
    if (!UNDEFINED_STATES.has(sqlState(error.cause)) || rows === this.#outdated) return false;
    this.#outdated = rows;
    this.#tables = null;
    this.#texts = new WeakMap();
    return true;
  }

  async #find(query: Query): Promise<void> {
    this.#tables = await findApplicationTables(query, this.#declared);
  }
}

/** Undefined table, column and schema. */
const UNDEFINED_STATES = new Set(['42P01', '42703', '3F000']);
