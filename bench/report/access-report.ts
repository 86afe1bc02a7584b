import type { AccessTimes } from '../measures/access.ts';
import type { Options } from '../options.ts';
import { figure, table } from './format.ts';
import { type Goal, goalsTable } from './goals.ts';
import type { Report } from './page.ts';

export function accessReport(
  times: AccessTimes,
  { options, machine }: { readonly options: Options; readonly machine: string },
): Report {
  const { events, teams } = options;
  const { access, profile, nothing, eachMs } = times;
  const count = (number: number) => number.toLocaleString('en');
  const reads = { 'access of a team': access, 'profile of a user': profile, '`select 1`': nothing };
  const rows = Object.entries(reads).map(([title, { p50Ms, p99Ms }]) => [
    title,
    figure(p50Ms, ' ms'),
    figure(p99Ms, ' ms'),
  ]);
  return {
    figures:
      `Measured with \`npm run bench -- access --teams ${teams} --events ${events}\` on ${machine}, with ` +
      `${count(teams)} teams and users, one subscription per team, and a log of ${count(events)} events, one read ` +
      `after another. One query for all teams took ${figure(eachMs * 1_000, ' µs')} for each.\n\n` +
      table(['', 'p50', 'p99'], rows),
    goals: goalsTable(accessGoals(times)),
  };
}

export const relativeAccessGoal = ({ access, profile }: AccessTimes): Goal => ({
  title: "the access of a team, p50 relative to a profile's",
  target: { most: 1.5 },
  measured: access.p50Ms / profile.p50Ms,
});

const accessGoals = (times: AccessTimes): Goal[] => [
  {
    title: 'access of one team, p99',
    target: { most: 1.5 },
    unit: ' ms',
    measured: times.access.p99Ms,
  },
  relativeAccessGoal(times),
  {
    title: 'access of all teams, for each',
    target: { most: 0.02 },
    unit: ' ms',
    measured: times.eachMs,
  },
];
