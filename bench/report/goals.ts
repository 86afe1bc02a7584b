import type { Comparison } from '../measures/compare.ts';
import { LOADS } from '../measures/take-turn.ts';
import { bodyRatio } from './bytes-table.ts';
import { figure, NONE, table } from './figures.ts';
import { median } from './median.ts';
import { ratioToBest, summarize } from './summary.ts';

/** Something to be reached, and what was. */
export type Goal = {
  readonly what: string;
  /** At least, or at most. */
  readonly wanted: { readonly least: number } | { readonly most: number };
  readonly unit?: string;
  /** `null` where it was not measured. */
  readonly seen: number | null;
};

/** Whether it was reached; `null` where it was not measured. */
export function isReached({ wanted, seen }: Goal): boolean | null {
  if (seen === null) return null;
  return 'least' in wanted ? seen >= wanted.least : seen <= wanted.most;
}

export function goalsTable(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => {
    const { what, wanted, unit = '', seen } = goal;
    const bound = 'least' in wanted ? `≥ ${wanted.least}${unit}` : `≤ ${wanted.most}${unit}`;
    const reached = isReached(goal);
    const verdict = reached === null ? NONE : reached ? 'yes' : '**no**';
    return [what, bound, figure(seen, unit), verdict];
  });
  return table(['goal', 'target', 'measured', 'met'], rows);
}

/** What a comparison says of the goals; all ratios are of figures of one run. */
export function goalsOf(comparison: Comparison): Goal[] {
  const { contestants, samples, commits, starts, install } = comparison;
  const peers = contestants.filter(({ isPeer }) => isPeer).map(({ name }) => name);
  const ratio = (name: typeof LOADS.events | typeof LOADS.profiles, others: readonly string[]) =>
    ratioToBest(samples, name, 'instep', others);
  const one = summarize(samples, LOADS.oneEvent, 'instep');
  const commitMs = commits.length === 0 ? null : median(commits.map(({ p50Ms }) => p50Ms));
  const tail = (name: typeof LOADS.eventsInTime | typeof LOADS.profilesInTime) => {
    const summary = summarize(samples, name, 'instep');
    return summary === null ? null : summary.p99Ms / summary.p50Ms;
  };
  const peaks = [LOADS.events, LOADS.profiles]
    .map((name) => summarize(samples, name, 'instep')?.peakMegabytes ?? null)
    .filter((peak) => peak !== null);
  return [
    {
      what: 'webhook events/s, 64 connections, relative to the floor',
      wanted: { least: 0.85 },
      seen: ratio(LOADS.events, ['floor']),
    },
    { what: '… relative to the best peer', wanted: { least: 6 }, seen: ratio(LOADS.events, peers) },
    {
      what: 'profile reads/s, relative to the floor',
      wanted: { least: 0.75 },
      seen: ratio(LOADS.profiles, ['floor']),
    },
    {
      what: '… relative to the best peer',
      wanted: { least: 25 },
      seen: ratio(LOADS.profiles, peers),
    },
    {
      what: 'one at a time: p50 of a webhook / p50 of a bare single-row commit through `pg`',
      wanted: { most: 1.5 },
      seen: one === null || commitMs === null ? null : one.p50Ms / commitMs,
    },
    {
      what: 'events at 70 % of the maximum rate: p99 / p50',
      wanted: { most: 5 },
      seen: tail(LOADS.eventsInTime),
    },
    {
      what: 'profiles at 70 % of the maximum rate: p99 / p50',
      wanted: { most: 5 },
      seen: tail(LOADS.profilesInTime),
    },
    {
      what: 'peak memory of the server under full load',
      wanted: { most: 150 },
      unit: ' MB',
      seen: peaks.length === 0 ? null : Math.max(...peaks),
    },
    {
      what: 'start of `instep serve` until ready, external database, migrated',
      wanted: { most: 400 },
      unit: ' ms',
      seen: starts === null ? null : median(starts.externalMs),
    },
    {
      what: '… embedded database',
      wanted: { most: 700 },
      unit: ' ms',
      seen: starts === null ? null : median(starts.embeddedMs),
    },
    {
      what: 'bytes stored in the database / bytes of the raw bodies',
      wanted: { most: 1.5 },
      seen: bodyRatio(comparison.bytes.get('instep')),
    },
    {
      what: "size of the library's install, without the optional database",
      wanted: { most: 60 },
      unit: ' MB',
      seen: install?.megabytes ?? null,
    },
    {
      what: '… number of packages, including itself',
      wanted: { most: 40 },
      seen: install?.packages ?? null,
    },
  ];
}
