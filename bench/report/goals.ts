import type { Comparison } from '../measures/compare.ts';
import { LOADS } from '../measures/measure-system.ts';
import { bodyRatio } from './bytes-table.ts';
import { figure, NONE, table } from './format.ts';
import { median } from './median.ts';
import { ratioToBest, summarize } from './summary.ts';

/** A target and the measured value. */
export type Goal = {
  readonly title: string;
  readonly target: { readonly least: number } | { readonly most: number };
  readonly unit?: string;
  /** `null` when it was not measured. */
  readonly measured: number | null;
};

/** Whether it was met; `null` when it was not measured. */
export function isMet({ target, measured }: Goal): boolean | null {
  if (measured === null) return null;
  return 'least' in target ? measured >= target.least : measured <= target.most;
}

export function goalsTable(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => {
    const { title, target, unit = '', measured } = goal;
    const bound = 'least' in target ? `≥ ${target.least}${unit}` : `≤ ${target.most}${unit}`;
    const met = isMet(goal);
    const verdict = met === null ? NONE : met ? 'yes' : '**no**';
    return [title, bound, figure(measured, unit), verdict];
  });
  return table(['goal', 'target', 'measured', 'met'], rows);
}

/** The goals of a comparison. All ratios are of measurements of one run. */
export function goalsOf(comparison: Comparison): Goal[] {
  const { systems, samples, commits, starts, install } = comparison;
  const peers = systems.filter(({ isPeer }) => isPeer).map(({ name }) => name);
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
      title: 'webhook events/s, 64 connections, relative to the floor',
      target: { least: 0.5 },
      measured: ratio(LOADS.events, ['floor']),
    },
    {
      title: '… relative to the best peer',
      target: { least: 6 },
      measured: ratio(LOADS.events, peers),
    },
    {
      title: "… CPU time of the server, relative to the floor's",
      target: { most: 2.5 },
      measured: costRatio(samples),
    },
    {
      title: 'profile reads/s, relative to the floor',
      target: { least: 0.8 },
      measured: ratio(LOADS.profiles, ['floor']),
    },
    {
      title: '… relative to the best peer',
      target: { least: 45 },
      measured: ratio(LOADS.profiles, peers),
    },
    {
      title: 'one at a time: p50 of a webhook / p50 of a bare single-row commit through `pg`',
      target: { most: 2.5 },
      measured: one === null || commitMs === null ? null : one.p50Ms / commitMs,
    },
    {
      title: 'events at 70% of the maximum rate: p99 / p50',
      target: { most: 5 },
      measured: tail(LOADS.eventsInTime),
    },
    {
      title: 'profiles at 70% of the maximum rate: p99 / p50',
      target: { most: 5 },
      measured: tail(LOADS.profilesInTime),
    },
    {
      title: 'peak memory of the server under full load',
      target: { most: 120 },
      unit: ' MB',
      measured: peaks.length === 0 ? null : Math.max(...peaks),
    },
    {
      title: 'time until `instep serve` is ready, with an external, migrated database',
      target: { most: 200 },
      unit: ' ms',
      measured: starts === null ? null : median(starts.externalMs),
    },
    {
      title: '… with the embedded database',
      target: { most: 700 },
      unit: ' ms',
      measured: starts === null ? null : median(starts.embeddedMs),
    },
    {
      title:
        'time from the import of the library to its first response, with an external, migrated database',
      target: { most: 150 },
      unit: ' ms',
      measured: starts === null ? null : median(starts.firstAnswerMs),
    },
    {
      title: 'bytes stored in the database / bytes of the raw bodies',
      target: { most: 1.5 },
      measured: bodyRatio(comparison.bytes.get('instep')),
    },
    {
      title: "size of the library's install",
      target: { most: 12 },
      unit: ' MB',
      measured: install?.megabytes ?? null,
    },
    {
      title: '… number of packages, including itself',
      target: { most: 22 },
      measured: install?.packages ?? null,
    },
  ];
}

function costRatio(samples: Comparison['samples']): number | null {
  const [own, floor] = ['instep', 'floor'].map(
    (system) => summarize(samples, LOADS.events, system)?.serverCpuUs ?? null,
  );
  return own == null || floor == null ? null : own / floor;
}
