import type { Sample } from '../measures/compare.ts';
import { SIZES, SMALL } from '../measures/growth.ts';
import type { Options } from '../options.ts';
import { goalsTable } from './goals.ts';
import { decreaseGoals, phasesTable } from './phases.ts';

/** The decrease of the rates, for docs/performance.md. */
export function growthReport(
  samples: readonly Sample[],
  { options, machine }: { readonly options: Options; readonly machine: string },
): string {
  const { events, teams, rounds, seconds } = options;
  const count = (number: number) => number.toLocaleString('en');
  const problems = samples.flatMap(({ measured }) => measured.problems);
  const goals = decreaseGoals(samples, {
    phase: SIZES.large,
    rest: SIZES.small,
    title: 'from small to large',
    most: 10,
  });
  return [
    `Measured with \`npm run bench -- growth\` on ${machine}. The small database has ` +
      `${count(SMALL.teams)} teams and users and an empty log. The large one has ${count(teams)} ` +
      `teams and users, one subscription per team, and ${count(events)} events with short bodies ` +
      `in the log. The two were measured alternately, in ${rounds} rounds of ${seconds} s each. ` +
      (problems.length === 0
        ? 'All measurements were valid.'
        : `**Failed:** ${problems.join('; ')}`),
    goalsTable(goals),
    phasesTable(samples, [SIZES.small, SIZES.large]),
  ].join('\n\n');
}
