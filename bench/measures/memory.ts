import { enter } from '../contestants/entrant.ts';
import { createInstep } from '../contestants/instep.ts';
import { canTellUse, residentMegabytes } from '../processes/process-tree.ts';
import type { CompareOptions } from './compare.ts';
import { type Measured, Turn } from './turn.ts';

/** What the server's memory did under full load. */
export type MemoryWatch = {
  readonly events: Measured;
  readonly profiles: Measured;
  /** In megabytes, once a second. */
  readonly resident: readonly number[];
};

const SIZE = { teams: 10_000, users: 10_000 };
const SECONDS_PER_MINUTE = 60;
const LOOK_EVERY_MS = 1_000;

/** Sends events and reads profiles at the same time, as fast as both are answered, for minutes. */
export async function watchMemory(
  { options, postgres, stripeApiBase }: Omit<CompareOptions, 'onSample'>,
  onMegabytes: (megabytes: number) => void,
): Promise<MemoryWatch> {
  if (!canTellUse()) throw new Error('this system does not tell the memory of processes');
  const entrant = await enter(createInstep(stripeApiBase, 1), postgres, SIZE);
  const turn = await Turn.start(entrant, postgres);
  const resident: number[] = [];
  const timer = setInterval(() => {
    const megabytes = residentMegabytes(turn.server.pid);
    resident.push(megabytes);
    onMegabytes(megabytes);
  }, LOOK_EVERY_MS);
  try {
    const seconds = options.minutes * SECONDS_PER_MINUTE;
    const load = { connections: Math.ceil(options.connections / 2), seconds };
    const sent = await Promise.all([turn.sendSignedLate(load), turn.readProfiles(load)]);
    const [events, profiles] = sent;
    return { events, profiles, resident };
  } finally {
    clearInterval(timer);
    await turn.end();
  }
}
