import { ENGINE_SCHEMA } from './schema.ts';

/** A change of the schema. A released one is never changed. */
export type Migration = {
  /** `engine`, or the name of the feature whose tables these are. */
  readonly owner: string;
  readonly version: number;
  readonly name: string;
  /**
   * Programs that know this version still work after the migration: they write what it needs, and
   * read nothing that it removes. Instances of such a program stay ready beside the newer ones.
   */
  readonly compatibleFrom: number;
  readonly sql: string;
};

/** The engine's, in order. They are a module rather than SQL files, so that an app's bundler finds them. */
export const ENGINE_MIGRATIONS: readonly Migration[] = [
  { owner: 'engine', version: 1, name: '0001_engine', compatibleFrom: 1, sql: ENGINE_SCHEMA },
];

/** The version of an owner's last migration. */
export function newestVersion(migrations: readonly Migration[], owner: string): number {
  return migrations.findLast((migration) => migration.owner === owner)?.version ?? 0;
}
