import { createRandom } from '../../src/testing/random.ts';
import type { Coverage, Reached } from './coverage.ts';
import { mutate } from './mutate.ts';
import { checkPrototypes } from './prototypes.ts';
import { shrink } from './shrink.ts';
import { Watchdog } from './watchdog.ts';

/** A parser at the edge, and what must hold of it whatever comes in. */
export type Target = {
  /** Inputs to begin with. As all inputs, they are bytes: characters from 0 to 255. */
  readonly seeds: readonly string[];
  /** What means something to the parser. */
  readonly dictionary: readonly string[];
  /** Whether the parser took it; throws when anything does not hold. */
  readonly check: (input: string) => boolean | Promise<boolean>;
};

export type FuzzFigures = {
  readonly inputs: number;
  /** Those that the parser took. */
  readonly taken: number;
  /** Those that reached something new. */
  readonly corpus: number;
};

/** V8's counts cost some milliseconds: they are looked at after so many inputs. */
const BATCH = 64;

/** How often blocks may be entered: some times what any parser needs, and in line with the length. */
const WORK_PER_INPUT = 1_000;
const WORK_PER_BYTE = 20;

/**
 * Feeds a target with mutated inputs, and those that reach new code are mutated again. All of it
 * follows from the seed.
 */
export async function fuzz(
  { seeds, dictionary, check }: Target,
  coverage: Coverage,
  { seed, isOver }: { seed: number; isOver: (inputs: number) => boolean },
): Promise<FuzzFigures> {
  const random = createRandom(seed);
  const corpus = [...seeds];
  const watchdog = new Watchdog();
  let inputs = 0;
  let taken = 0;

  /** Rather a short one: a change of a long one mostly hits what means nothing. */
  function parent(): string {
    const [one, other] = [random.pick(corpus), random.pick(corpus)];
    return one.length < other.length ? one : other;
  }

  async function run(batch: readonly string[]): Promise<Reached> {
    for (const input of batch) {
      inputs += 1;
      watchdog.begins(input);
      if (await checked(input)) taken += 1;
    }
    return coverage.take();
  }

  async function checked(input: string): Promise<boolean> {
    try {
      const isTaken = await check(input);
      checkPrototypes();
      return isTaken;
    } catch (cause) {
      const shortest = await shrink(input, async (shorter) => {
        watchdog.begins(shorter);
        await check(shorter);
        checkPrototypes();
      });
      throw new Error(`does not hold for ${JSON.stringify(shortest)}`, { cause });
    }
  }

  /** Halves a batch that reached something new until it is known which input did. */
  async function learn(batch: readonly string[]): Promise<void> {
    const reached = await run(batch);
    const isTooMuch = reached.work > workAllowed(batch);
    const isNew = coverage.isNew(reached);
    const [input] = batch;
    if (input === undefined || !(isNew || isTooMuch)) return;
    if (batch.length > 1) {
      await learn(batch.slice(0, batch.length / 2));
      await learn(batch.slice(batch.length / 2));
      return;
    }
    if (isTooMuch) throw new Error(`${reached.work} blocks for ${JSON.stringify(input)}`);
    coverage.learn(reached);
    corpus.push(input);
  }

  try {
    // What runs once, when it is first needed, is no input's merit.
    coverage.learn(await run(seeds));
    while (!isOver(inputs)) {
      const next = () => mutate(parent(), random, { corpus, dictionary });
      await learn(Array.from({ length: BATCH }, next));
    }
  } finally {
    await watchdog.stop();
  }
  return { inputs, taken, corpus: corpus.length };
}

function workAllowed(batch: readonly string[]): number {
  return batch.reduce((sum, { length }) => sum + WORK_PER_INPUT + WORK_PER_BYTE * length, 0);
}
