import type { AccessTimes } from '../measures/access.ts';
import type { Options } from '../options.ts';
import { figure } from './format.ts';
import { goalsTable } from './goals.ts';
import type { Report } from './page.ts';

export function accessReport(
  { oneMs, oneMedianMs, eachMs }: AccessTimes,
  { options, machine }: { readonly options: Options; readonly machine: string },
): Report {
  const { events, teams } = options;
  const count = (number: number) => number.toLocaleString('en');
  return {
    figures:
      `Measured with \`npm run bench -- access --teams ${teams} --events ${events}\` on ${machine}, with ` +
      `${count(teams)} teams, one subscription per team, and a log of ${count(events)} events. The access of one ` +
      `team took ${figure(oneMedianMs, ' ms')} (p50) and ${figure(oneMs, ' ms')} (p99), and one query for all ` +
      `teams ${figure(eachMs * 1_000, ' µs')} for each.`,
    goals: goalsTable([
      {
        title: 'access of one team, p99',
        target: { most: 1.5 },
        unit: ' ms',
        measured: oneMs,
      },
      {
        title: 'access of all teams, for each',
        target: { most: 0.02 },
        unit: ' ms',
        measured: eachMs,
      },
    ]),
  };
}
