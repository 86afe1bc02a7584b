import type { Sample } from '../measures/compare.ts';
import { FEW_TEAMS, SIZES } from '../measures/growth.ts';
import type { Options } from '../options.ts';
import { goalsTable } from './goals.ts';
import type { Report } from './page.ts';
import { decreaseGoals, phasesTable } from './phases.ts';

export function growthReport(
  samples: readonly Sample[],
  { options, machine }: { readonly options: Options; readonly machine: string },
): Report {
  const { events, teams, rounds, seconds } = options;
  const count = (number: number) => number.toLocaleString('en');
  const problems = samples.flatMap(({ measured }) => measured.problems);
  const goals = decreaseGoals(samples, {
    phase: SIZES.long,
    rest: SIZES.many,
    title: 'from an empty log to a long one',
    most: 10,
  });
  const figures = [
    `Measured with \`npm run bench -- growth\` on ${machine}. Three databases were measured in turn: one with ` +
      `${count(FEW_TEAMS)} teams and users and an empty log; one with ${count(teams)} teams and users, one ` +
      `subscription per team, and an empty log; and one with the same teams and a log of ` +
      `${count(events)} events with short bodies. There were ${rounds} rounds of ${seconds} s each. ` +
      (problems.length === 0
        ? 'All measurements were valid.'
        : `**Failed:** ${problems.join('; ')}`),
    phasesTable(samples, Object.values(SIZES)),
  ].join('\n\n');
  return { figures, goals: goalsTable(goals) };
}
