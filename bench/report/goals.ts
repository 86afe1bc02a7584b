import type { Comparison } from '../measures/compare.ts';
import { LOADS, type LoadName } from '../measures/measure-system.ts';
import type { Measured } from '../measures/server-run.ts';
import { figure, NONE, table } from './format.ts';
import { median, medianOfKnown } from './median.ts';
import { ratioTo, summarize } from './summary.ts';

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
    const { title, unit = '', measured } = goal;
    return [title, boundOf(goal), figure(measured, unit), verdictOf(goal)];
  });
  return table(['goal', 'target', 'measured', 'met'], rows);
}

function boundOf({ target, unit = '' }: Goal): string {
  return 'least' in target ? `≥ ${target.least}${unit}` : `≤ ${target.most}${unit}`;
}

function verdictOf(goal: Goal): string {
  const met = isMet(goal);
  return met === null ? NONE : met ? 'yes' : '**no**';
}

/** The median of what several runs measured, and what each of them did. */
export function goalsTableOfRuns(runs: readonly (readonly Goal[])[]): string {
  const rows = (runs[0] ?? []).map((goal, index) => {
    const values = runs.map((goals) => goals[index]?.measured ?? null);
    const ofAll = { ...goal, measured: medianOfKnown(values) };
    const each = values.map((value) => figure(value)).join(', ');
    return [goal.title, boundOf(goal), each, figure(ofAll.measured, goal.unit), verdictOf(ofAll)];
  });
  return table(['goal', 'target', `${runs.length} runs`, 'median', 'met'], rows);
}

/** The systems and the loads that the goals are about. */
export const GOAL_SYSTEMS = ['instep', 'floor', 'plain'];
export const GOAL_MEASURES = ['events', 'profiles', 'latency', 'renewals', 'start'] as const;

/** The goals of one run. All ratios are of measurements of one round. */
export function goalsOf({ samples, starts }: Comparison): Goal[] {
  const ratio = (name: LoadName, other: string, read?: (measured: Measured) => number | null) =>
    ratioTo(samples, name, 'instep', other, read);
  const peak = (name: LoadName) => summarize(samples, name, 'instep')?.peakMegabytes ?? null;
  return [
    {
      title: 'events/s, 64 connections, relative to the floor',
      target: { least: 0.4 },
      measured: ratio(LOADS.events, 'floor'),
    },
    {
      title: '… relative to the plain handler',
      target: { least: 2.0 },
      measured: ratio(LOADS.events, 'plain'),
    },
    {
      title: 'realistic events/s, relative to the plain handler',
      target: { least: 2.3 },
      measured: ratio(LOADS.renewals, 'plain'),
    },
    {
      title: "one event at a time: p50 relative to the plain handler's",
      target: { most: 1.25 },
      measured: ratio(LOADS.oneEvent, 'plain', ({ p50Ms }) => p50Ms),
    },
    {
      title: '… CPU time of the server and PostgreSQL together',
      target: { most: 1.5 },
      measured: ratio(LOADS.oneEvent, 'plain', cpuUs),
    },
    {
      title: 'profile reads/s, relative to the floor',
      target: { least: 0.85 },
      measured: ratio(LOADS.profiles, 'floor'),
    },
    {
      title: 'peak memory, events',
      target: { most: 130 },
      unit: ' MB',
      measured: peak(LOADS.events),
    },
    {
      title: '… then profile reads',
      target: { most: 140 },
      unit: ' MB',
      measured: peak(LOADS.profiles),
    },
    {
      title: 'ready with a migrated database, external',
      target: { most: 200 },
      unit: ' ms',
      measured: starts === null ? null : median(starts.externalMs),
    },
    {
      title: '… embedded',
      target: { most: 320 },
      unit: ' ms',
      measured: starts === null ? null : median(starts.embeddedMs),
    },
  ];
}

const cpuUs = ({ serverCpuUs, postgresCpuUs }: Measured) =>
  serverCpuUs === null || postgresCpuUs === null ? null : serverCpuUs + postgresCpuUs;
