import { createInstep } from '../systems/instep.ts';
import { prepareSystem } from '../systems/prepared-system.ts';
import type { CompareOptions, Sample } from './compare.ts';
import { completeStatistics } from './complete-statistics.ts';
import { measureSystem } from './measure-system.ts';
import { LOAD_TIMES, seedHistory } from './seed-history.ts';

export const SMALL = { teams: 1_000, users: 1_000 };

/** The names of Instep with few teams and an empty log, and with many teams and a long log. */
export const SIZES = { small: 'small', large: 'large' } as const;

/** Measures Instep on a small database and on a large one, alternately. */
export async function measureGrowth(
  { options, postgres, stripeApiBase, onSample }: CompareOptions,
  print: (text: string) => void,
): Promise<Sample[]> {
  const { events, teams } = options;
  const instep = createInstep(stripeApiBase, 1);
  const small = await prepareSystem(instep, postgres, SMALL, { databaseName: SIZES.small });
  const large = await prepareSystem(
    instep,
    postgres,
    { teams, users: teams },
    { databaseName: SIZES.large },
  );
  await seedHistory(large.database.ask, { events, teams, ...LOAD_TIMES }, (logged) =>
    print(`${logged.toLocaleString('en')} events in the log`),
  );
  large.eventsSent = events;
  await completeStatistics(large.database.url);

  const samples: Sample[] = [];
  const asked = { ...options, measures: ['events', 'profiles'] as const };
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [system, prepared] of [
      [SIZES.small, small],
      [SIZES.large, large],
    ] as const) {
      await measureSystem(prepared, postgres, asked, (name, measured) => {
        const sample = { system, round, name, measured };
        samples.push(sample);
        onSample(sample);
      });
    }
  }
  return samples;
}
