import type { Database } from './database.ts';
import type { Migration } from './migrations.ts';
import type { Recognition } from './tables/recognize-tables.ts';

/** What a feature has in the schema `instep`. */
export type FeatureSchema = {
  readonly name: string;
  readonly migrations: readonly Migration[];
  /** Its views, which are made after the migrations, because they depend on the application's tables. */
  readonly views?: readonly string[];
  /** Makes the views, unless they are there. */
  readonly makeViews?: (database: Database, recognition: Recognition) => Promise<void>;
};
