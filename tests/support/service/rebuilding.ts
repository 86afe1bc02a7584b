import type { ApplicationId } from 'instep';
import type { Difference } from 'instep/operate';
import { collect } from '../collect.ts';
import type { Database } from '../internals/database.ts';
import { rebuild } from '../internals/repair.ts';
import { openWholePipeline } from './pipelines.ts';

type Options = Partial<Parameters<typeof rebuild>[1]>;

/** Rebuilds teams, by default all of them, and returns what differed. */
export function rebuildTeams(database: Database, options: Options = {}): Promise<Difference[]> {
  const { settle } = openWholePipeline(database);
  const all = { planSelection: 'newest', settle, isDryRun: false, ...options } as const;
  return collect(rebuild(database, all));
}

/** What a rebuild of the team would repair. */
export function findDifferences(database: Database, teamId: ApplicationId): Promise<Difference[]> {
  return rebuildTeams(database, { teamId, isDryRun: true });
}
