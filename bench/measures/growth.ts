import { type Entrant, enter } from '../contestants/entrant.ts';
import { createInstep } from '../contestants/instep.ts';
import { startServer } from '../processes/server-process.ts';
import type { CompareOptions, Sample } from './compare.ts';
import { LOAD_TIMES, seedHistory } from './seed-history.ts';
import { takeTurn } from './take-turn.ts';
import { untilSummed } from './until-summed.ts';

export const SMALL = { teams: 1_000, users: 1_000 };

/** How Instep is called with few teams and an empty log, and with many and a long one. */
export const SIZES = { small: 'small', large: 'large' } as const;

/** Measures Instep on a small database and on a large one, in turns. */
export async function measureGrowth(
  { options, postgres, stripeApiBase, onSample }: CompareOptions,
  tell: (text: string) => void,
): Promise<Sample[]> {
  const { events, teams } = options;
  const instep = createInstep(stripeApiBase, 1);
  const small = await enter(instep, postgres, SMALL, SIZES.small);
  const large = await enter(instep, postgres, { teams, users: teams }, SIZES.large);
  await seedHistory(large.database.ask, { events, teams, ...LOAD_TIMES }, (logged) =>
    tell(`${logged.toLocaleString('en')} events are logged`),
  );
  large.eventsSent = events;
  await letSum(large, tell);

  const samples: Sample[] = [];
  const asked = { ...options, measures: ['events', 'profiles'] as const };
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [contestant, entrant] of [
      [SIZES.small, small],
      [SIZES.large, large],
    ] as const) {
      await takeTurn(entrant, postgres, asked, (name, measured) => {
        const sample = { contestant, round, name, measured };
        samples.push(sample);
        onSample(sample);
      });
    }
  }
  return samples;
}

/** A server that was there when the log was written would have summed it as it came. */
async function letSum({ contestant, database }: Entrant, tell: (text: string) => void) {
  const server = await startServer(contestant.server(database.url));
  try {
    await untilSummed(database.ask, tell);
  } finally {
    await server.stop();
  }
}
