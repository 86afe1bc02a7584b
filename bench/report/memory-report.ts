import type { MemoryWatch } from '../measures/memory.ts';
import { figure, table } from './figures.ts';
import { goalsTable } from './goals.ts';
import { median } from './median.ts';

const SECONDS_PER_MINUTE = 60;

/** By how much the last fifth has more than the second one; the first one warms up. */
export function creepPercent(resident: readonly number[]): number {
  const fifth = Math.max(1, Math.floor(resident.length / 5));
  const early = median(resident.slice(fifth, 2 * fifth));
  const late = median(resident.slice(-fifth));
  return (late / early - 1) * 100;
}

/** What the memory did, for docs/performance.md. */
export function memoryReport(
  { events, profiles, resident }: MemoryWatch,
  { minutes, machine }: { readonly minutes: number; readonly machine: string },
): string {
  const problems = [...events.problems, ...profiles.problems];
  const perMinute = Array.from(
    { length: Math.ceil(resident.length / SECONDS_PER_MINUTE) },
    (_, minute) => {
      const first = minute * SECONDS_PER_MINUTE;
      const values = resident.slice(first, first + SECONDS_PER_MINUTE);
      return [`${minute + 1}`, figure(median(values), ' MB'), figure(Math.max(...values), ' MB')];
    },
  );
  const goals = [
    { what: 'resident memory, maximum', wanted: { most: 150 }, unit: ' MB', seen: most(resident) },
    {
      what: 'growth from the second fifth of the time to the last',
      wanted: { most: 5 },
      unit: ' %',
      seen: creepPercent(resident),
    },
  ];
  return [
    `Measured with \`npm run bench -- memory\` on ${machine}: ${minutes} minutes of ` +
      `${figure(events.perSecond)} events/s and ${figure(profiles.perSecond)} profile reads/s at ` +
      'the same time. ' +
      (problems.length === 0
        ? 'All measurements were valid.'
        : `**Failed:** ${problems.join('; ')}`),
    goalsTable(goals),
    table(['minute', 'median', 'maximum'], perMinute),
  ].join('\n\n');
}

const most = (values: readonly number[]) => values.reduce((one, other) => Math.max(one, other), 0);
