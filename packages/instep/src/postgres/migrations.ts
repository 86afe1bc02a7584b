import { sql as instep } from './migrations/0001-instep.ts';
import { sql as teamSubscriptions } from './migrations/0002-team-subscriptions.ts';
import { sql as operators } from './migrations/0003-operators.ts';

export type Migration = {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /**
   * Programs that know this version still work after the migration: they write what it needs, and
   * read nothing that it removes. Instances of such a program stay ready beside the newer ones.
   */
  readonly compatibleFrom: number;
};

/** All migrations in order. They are modules rather than SQL files, so that an app's bundler finds them. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: '0001_instep', sql: instep, compatibleFrom: 1 },
  { version: 2, name: '0002_team_subscriptions', sql: teamSubscriptions, compatibleFrom: 1 },
  { version: 3, name: '0003_operators', sql: operators, compatibleFrom: 1 },
];
