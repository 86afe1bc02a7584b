import { DatabaseConflict, DatabaseUnusable, sqlState } from './errors.ts';
import type { Query, StatementText } from './statement.ts';
import type { ApplicationTables, DeclaredTables } from './tables/application-tables.ts';
import { findApplicationTables } from './tables/find-tables.ts';

/** A statement needs the application's tables, which are looked up before it is tried again. */
class TablesUnknown extends DatabaseConflict {}

/** The texts of the statements. Those that name the application's tables are built once. */
export class StatementTexts {
  readonly #declared: DeclaredTables;
  #texts = new WeakMap<Exclude<StatementText, string>, string>();
  #tables: ApplicationTables | null = null;
  #finding: Promise<void> | null = null;

  constructor(declared: DeclaredTables) {
    this.#declared = declared;
  }

  /** @throws DatabaseConflict when the tables have to be found first */
  textOf(text: StatementText): string {
    if (typeof text === 'string') return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#tables === null) throw new TablesUnknown("the app's tables are not known yet");
    const made = text(this.#tables);
    this.#texts.set(text, made);
    return made;
  }

  /**
   * Returns whether a statement failed because the tables are not known yet, or because a table or column
   * is gone: the application's own migrations can rename them at any time. They are then forgotten.
   */
  forgetTablesAfter(error: unknown): boolean {
    if (error instanceof TablesUnknown) return true;
    if (!(error instanceof DatabaseUnusable && UNDEFINED_STATES.has(sqlState(error.cause)))) {
      return false;
    }
    const wereKnown = this.#tables !== null;
    this.#tables = null;
    this.#texts = new WeakMap();
    return wereKnown;
  }

  /** Looks for the application's tables. @throws ApplicationTablesUnfit */
  async findTables(query: Query): Promise<void> {
    if (this.#tables !== null) return;
    this.#finding ??= this.#find(query).finally(() => {
      this.#finding = null;
    });
    await this.#finding;
  }

  async #find(query: Query): Promise<void> {
    this.#tables = await findApplicationTables(query, this.#declared);
  }
}

/** Undefined table, column and schema. */
const UNDEFINED_STATES = new Set(['42P01', '42703', '3F000']);
