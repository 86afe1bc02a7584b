import { canMeasureUse, residentMegabytes } from '../processes/process-tree.ts';
import { createInstep } from '../systems/instep.ts';
import { prepareSystem } from '../systems/prepared-system.ts';
import type { CompareOptions } from './compare.ts';
import { type Measured, ServerRun } from './server-run.ts';

/** The server's memory under full load. */
export type MemoryWatch = {
  readonly events: Measured;
  readonly profiles: Measured;
  /** One value per second, in megabytes. */
  readonly resident: readonly number[];
};

const SIZE = { teams: 10_000, users: 10_000 };
const SECONDS_PER_MINUTE = 60;
const LOOK_EVERY_MS = 1_000;

/** Sends events and reads profiles at the same time, as fast as possible, for minutes. */
export async function watchMemory(
  { options, postgres, stripeApiBase }: Omit<CompareOptions, 'onSample'>,
  onMegabytes: (megabytes: number) => void,
): Promise<MemoryWatch> {
  if (!canMeasureUse()) throw new Error('this system does not report the memory of processes');
  const prepared = await prepareSystem(createInstep(stripeApiBase), postgres, SIZE);
  const run = await ServerRun.start(prepared, postgres);
  const resident: number[] = [];
  const timer = setInterval(() => {
    const megabytes = residentMegabytes(run.server.pid);
    resident.push(megabytes);
    onMegabytes(megabytes);
  }, LOOK_EVERY_MS);
  try {
    const seconds = options.minutes * SECONDS_PER_MINUTE;
    const { events, profiles } = await run.sendMixed({ ...options, seconds });
    return { events, profiles, resident };
  } finally {
    clearInterval(timer);
    await run.end();
  }
}
