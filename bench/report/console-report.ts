import type { MeasuredPage } from '../measures/console.ts';
import type { Options } from '../options.ts';
import { figure, table } from './format.ts';
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
  const figures = [
    `Measured with \`npm run bench -- console\` on ${machine}. The database had ` +
      `${count(teams)} teams, and ${count(events)} events from one week in the log. Each page was ` +
      `requested ${pages[0]?.timesMs.length} times in sequence, and timed from the request to the ` +
      'last byte of the page, or to the first byte of a file. ' +
      (problems.length === 0 ? 'All pages were complete.' : `**Failed:** ${problems.join('; ')}`),
    table(
      ['page', 'variants', 'slowest median', 'worst case'],
      groupsOf(pages).map((group) => [
        group[0]?.name ?? '',
        `${group.length}`,
        figure(Math.max(...group.map(({ timesMs }) => median(timesMs))), ' ms'),
        figure(Math.max(...group.flatMap(({ timesMs }) => timesMs)), ' ms'),
      ]),
    ),
  ].join('\n\n');
  return { figures, goals: goalsTable(goals) };
}

/** Each page with its variants, whose names begin with `…`. */
function groupsOf(pages: readonly MeasuredPage[]): MeasuredPage[][] {
  const groups: MeasuredPage[][] = [];
  for (const page of pages) {
    const last = groups.at(-1);
    if (page.name.startsWith('…') && last !== undefined) last.push(page);
    else groups.push([page]);
  }
  return groups;
}
