import type { MeasuredPage } from '../measures/console.ts';
import { PHASES, type RetentionMeasures } from '../measures/retention.ts';
import type { Options } from '../options.ts';
import { figure, table } from './format.ts';
import { goalsTable } from './goals.ts';
import { median } from './median.ts';
import type { Report } from './page.ts';
import { decreaseGoals, phasesTable } from './phases.ts';

const MONTH_SECONDS = 30 * 86_400;

export function retentionReport(
  measures: RetentionMeasures,
  { options, machine }: { readonly options: Options; readonly machine: string },
): Report {
  const { samples, deletion, pages } = measures;
  const { events, teams, rounds, seconds } = options;
  const count = (number: number) => Math.round(number).toLocaleString('en');
  const decrease = (phase: string, rest: string, most: number) =>
    decreaseGoals(samples, { phase, rest, title: phase, most });
  const slowest = (all: readonly MeasuredPage[]) => {
    const page = all.toSorted((one, other) => medianOf(other) - medianOf(one))[0];
    return page === undefined ? null : medianOf(page);
  };
  const problems = [
    ...samples.flatMap(({ measured }) => measured.problems),
    ...[...pages.during, ...pages.after].flatMap(({ problem }) => problem ?? []),
  ];
  const pageGoal = { target: { most: 100 }, unit: ' ms' };
  const goals = [
    ...decrease(PHASES.deletion, PHASES.deletionRests, 10),
    ...decrease(PHASES.afterward, PHASES.deletionRests, 10),
    {
      title: 'size of the log: increase after adding as many new events as were deleted',
      target: { most: 5 },
      unit: '%',
      measured: measures.growthByReplacement * 100,
    },
    {
      ...pageGoal,
      title: 'slowest page of the console during the deletion, median',
      measured: slowest(pages.during),
    },
    { ...pageGoal, title: '… and afterward', measured: slowest(pages.after) },
  ];
  const figures = [
    `Measured with \`npm run bench -- retention\` on ${machine}. The database had ${count(teams)} teams and ` +
      `users, and a log of ${count(events)} events with short bodies, received over two weeks. A ` +
      'quarter of them were older than the retention period. Each load was measured alternately with and ' +
      `without the background work, in ${rounds} rounds of ${seconds} s each. ` +
      (problems.length === 0
        ? 'All measurements were valid.'
        : `**Failed:** ${problems.join('; ')}`),
    table(
      ['', 'measured'],
      [
        ['events deleted', count(deletion.deleted)],
        ['… without other load', `${figure(deletion.perSecond)} per second`],
        ['… in a month', `${figure((deletion.perSecond * MONTH_SECONDS) / 1e9)} billion`],
        ["… PostgreSQL's CPU time per event", figure(deletion.postgresCpuUs, ' µs')],
        ['… written to the WAL per event', figure(deletion.writtenBytes, ' bytes')],
        ['dead rows after the deletion', count(deletion.deadRows)],
        ['duration of a vacuum', figure(deletion.vacuumSeconds, ' s')],
        ['expired events that stay, because the ordering rule needs them', count(deletion.kept)],
        ['duration of the next run, which examines them', figure(deletion.nextRunSeconds, ' s')],
      ],
    ),
  ].join('\n\n');
  const phases = phasesTable(samples, Object.values(PHASES));
  return { figures, goals: `${goalsTable(goals)}\n\n${phases}` };
}

const medianOf = ({ timesMs }: MeasuredPage) => median(timesMs);
