import type { MemoryWatch } from '../measures/memory.ts';
import { figure, table } from './format.ts';
import { goalsTable } from './goals.ts';
import { median } from './median.ts';
import type { Report } from './page.ts';

const SECONDS_PER_MINUTE = 60;

/** The growth from the second fifth to the last one. The first one is the warm-up. */
function growthPercent(resident: readonly number[]): number {
  const fifth = Math.max(1, Math.floor(resident.length / 5));
  const early = median(resident.slice(fifth, 2 * fifth));
  const late = median(resident.slice(-fifth));
  return (late / early - 1) * 100;
}

export function memoryReport(
  { events, profiles, resident }: MemoryWatch,
  { minutes, machine }: { readonly minutes: number; readonly machine: string },
): Report {
  const problems = [...events.problems, ...profiles.problems];
  const minutesOfValues = Array.from(
    { length: Math.ceil(resident.length / SECONDS_PER_MINUTE) },
    (_, minute) => resident.slice(minute * SECONDS_PER_MINUTE, (minute + 1) * SECONDS_PER_MINUTE),
  );
  const medians = minutesOfValues.map(median);
  const goals = [
    {
      title: 'resident memory, maximum',
      target: { most: 150 },
      unit: ' MB',
      measured: most(resident),
    },
    {
      title: 'growth from the second fifth of the time to the last',
      target: { most: 5 },
      unit: '%',
      measured: growthPercent(resident),
    },
  ];
  const figures =
    `Measured with \`npm run bench -- memory\` on ${machine}: ${minutes} minutes of ` +
    `${figure(events.perSecond)} events/s and ${figure(profiles.perSecond)} profile reads/s at ` +
    'the same time. ' +
    (problems.length === 0
      ? 'All measurements were valid.'
      : `**Failed:** ${problems.join('; ')}`) +
    `\n\nThe server used at most ${figure(most(resident), ' MB')}. The median of each minute was between ` +
    `${figure(Math.min(...medians))} and ${figure(most(medians), ' MB')}.`;
  const minutely = table(
    ['minute', 'median', 'maximum'],
    minutesOfValues.map((values, index) => [
      `${index + 1}`,
      figure(median(values), ' MB'),
      figure(most(values), ' MB'),
    ]),
  );
  return { figures, goals: `${goalsTable(goals)}\n\n${minutely}` };
}

const most = (values: readonly number[]) => values.reduce((one, other) => Math.max(one, other), 0);
