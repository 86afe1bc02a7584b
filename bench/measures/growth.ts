import { createInstep } from '../systems/instep.ts';
import { type PreparedSystem, prepareSystem } from '../systems/prepared-system.ts';
import type { CompareOptions, Sample } from './compare.ts';
import { measureSystem } from './measure-system.ts';
import { applyLastEvents, LOAD_TIMES, seedHistory } from './seed-history.ts';

export const FEW_TEAMS = 1_000;

/** The databases: few teams and an empty log, many teams and an empty log, and many teams and a long log. */
export const SIZES = {
  few: 'few teams, empty log',
  many: 'many teams, empty log',
  long: 'many teams, long log',
} as const;

/** Measures Instep on databases of three sizes, in turn. */
export async function measureGrowth(
  { options, postgres, stripeApiBase, onSample }: CompareOptions,
  print: (text: string) => void,
): Promise<readonly Sample[]> {
  const { events, teams } = options;
  const instep = createInstep(stripeApiBase);
  const prepare = (databaseName: string, count: number) =>
    prepareSystem(instep, postgres, { teams: count, users: count }, { databaseName });
  const few = await prepare('few', FEW_TEAMS);
  const many = await prepareMany(await prepare('many', teams), events);
  const long = await prepareLong(await prepare('long', teams), events, print);
  const systems = [
    [SIZES.few, few],
    [SIZES.many, many],
    [SIZES.long, long],
  ] as const;

  const samples: Sample[] = [];
  const asked = { ...options, measures: ['events', 'profiles'] as const };
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [system, prepared] of systems) {
      await measureSystem(prepared, postgres, asked, (name, measured) => {
        const sample = { system, round, name, measured };
        samples.push(sample);
        onSample(sample);
      });
    }
  }
  return samples;
}

/** The same teams as with a long log, whose events were all deleted. */
async function prepareMany(prepared: PreparedSystem, events: number): Promise<PreparedSystem> {
  const { database, teams } = prepared;
  await applyLastEvents(database.ask, { events, teams, ...LOAD_TIMES });
  return { ...prepared, eventsSent: events, eventsDeleted: events };
}

async function prepareLong(
  prepared: PreparedSystem,
  events: number,
  print: (text: string) => void,
): Promise<PreparedSystem> {
  const { database, teams } = prepared;
  await seedHistory(database.ask, { events, teams, ...LOAD_TIMES }, (logged) =>
    print(`${logged.toLocaleString('en')} events in the log`),
  );
  return { ...prepared, eventsSent: events };
}
