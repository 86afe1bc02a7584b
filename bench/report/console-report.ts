import type { MeasuredPage } from '../measures/console.ts';
import type { Options } from '../options.ts';
import { figure, table } from './format.ts';
import { goalsTable } from './goals.ts';
import { median } from './median.ts';

const BYTES_PER_KILOBYTE = 1_000;

/** The load times of all pages, for docs/performance.md. */
export function consoleReport(
  pages: readonly MeasuredPage[],
  { options, machine }: { readonly options: Options; readonly machine: string },
): string {
  const { events, teams } = options;
  const count = (number: number) => number.toLocaleString('en');
  const problems = pages.flatMap(({ problem }) => problem ?? []);
  const medians = pages.map(({ timesMs }) => median(timesMs));
  const goal = { target: { most: 100 }, unit: ' ms' };
  const goals = [
    { ...goal, title: 'the slowest page, median', measured: Math.max(...medians) },
    {
      ...goal,
      title: '… worst case',
      measured: Math.max(...pages.flatMap(({ timesMs }) => timesMs)),
    },
  ];
  return [
    `Measured with \`npm run bench -- console\` on ${machine}. The database had ` +
      `${count(teams)} teams (10,000 for sorted lists), and ${count(events)} events from one week in the log. Each page was ` +
      `requested ${pages[0]?.timesMs.length} times in sequence, and timed from the request to the ` +
      'last byte of the page, or to the first byte of a file. ' +
      (problems.length === 0 ? 'All pages were complete.' : `**Failed:** ${problems.join('; ')}`),
    goalsTable(goals),
    table(
      ['page', 'median', 'worst case', 'size'],
      pages.map(({ name, timesMs, bytes }) => [
        name,
        figure(median(timesMs), ' ms'),
        figure(Math.max(...timesMs), ' ms'),
        figure(bytes / BYTES_PER_KILOBYTE, ' kB'),
      ]),
    ),
  ].join('\n\n');
}
