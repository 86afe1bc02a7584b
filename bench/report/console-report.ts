import type { MeasuredPage } from '../measures/console.ts';
import type { Options } from '../options.ts';
import { figure } from './format.ts';
import { goalsTable } from './goals.ts';
import { median } from './median.ts';
import type { Report } from './page.ts';

export function consoleReport(
  pages: readonly MeasuredPage[],
  { options, machine }: { readonly options: Options; readonly machine: string },
): Report {
  const { events, teams } = options;
  const count = (number: number) => number.toLocaleString('en');
  const problems = pages.flatMap(({ problem }) => problem ?? []);
  const slowestMedian = Math.max(...pages.map(({ timesMs }) => median(timesMs)));
  const worst = Math.max(...pages.flatMap(({ timesMs }) => timesMs));
  const goal = { target: { most: 100 }, unit: ' ms' };
  const goals = [
    { ...goal, title: 'the slowest page, median', measured: slowestMedian },
    { ...goal, title: '… worst case', measured: worst },
  ];
  const figures =
    `Measured with \`npm run bench -- console\` on ${machine}. The database had ` +
    `${count(teams)} teams, and ${count(events)} events from one week in the log. Each of ${pages.length} ` +
    `pages was requested ${pages[0]?.timesMs.length} times in sequence: the slowest took ` +
    `${figure(slowestMedian, ' ms')} in the median, and the slowest request ${figure(worst, ' ms')}. ` +
    (problems.length === 0 ? 'All pages were complete.' : `**Failed:** ${problems.join('; ')}`);
  return { figures, goals: goalsTable(goals) };
}
