import type { Sample } from '../measures/compare.ts';
import { SIZES, SMALL } from '../measures/growth.ts';
import { LOADS } from '../measures/measure-system.ts';
import type { Options } from '../options.ts';
import { figure, table } from './format.ts';
import { goalsTable } from './goals.ts';
import { ratioToBest, summarize } from './summary.ts';

const NAMES = [LOADS.events, LOADS.profiles] as const;

/** The decrease of the rates, for docs/performance.md. */
export function growthReport(
  samples: readonly Sample[],
  { options, machine }: { readonly options: Options; readonly machine: string },
): string {
  const { events, teams, rounds, seconds } = options;
  const count = (number: number) => number.toLocaleString('en');
  const problems = samples.flatMap(({ measured }) => measured.problems);
  const goals = NAMES.map((name) => {
    const ratio = ratioToBest(samples, name, SIZES.large, [SIZES.small]);
    return {
      title: `${name} per second: decrease from small to large`,
      target: { most: 10 },
      unit: ' %',
      measured: ratio === null ? null : (1 - ratio) * 100,
    };
  });
  const rows = NAMES.flatMap((name) =>
    [SIZES.small, SIZES.large].map((size) => {
      const summary = summarize(samples, name, size);
      return [
        `${name}, ${size}`,
        figure(summary?.perSecond ?? null),
        figure(summary?.p50Ms ?? null, ' ms'),
        figure(summary?.p99Ms ?? null, ' ms'),
        figure(summary?.serverCpuUs ?? null, ' µs'),
        figure(summary?.postgresCpuUs ?? null, ' µs'),
      ];
    }),
  );
  return [
    `Measured with \`npm run bench -- growth\` on ${machine}. The small database has ` +
      `${count(SMALL.teams)} teams and users and an empty log. The large one has ${count(teams)} ` +
      `teams and users, one subscription per team, and ${count(events)} events with short bodies ` +
      `in the log. The two were measured alternately, in ${rounds} rounds of ${seconds} s each. ` +
      (problems.length === 0
        ? 'All measurements were valid.'
        : `**Failed:** ${problems.join('; ')}`),
    goalsTable(goals),
    table(['', 'per second', 'p50', 'p99', 'server', 'PostgreSQL'], rows),
  ].join('\n\n');
}
