import { Worker } from 'node:worker_threads';
import { createRandom } from '../../simulation/random.ts';
import type { Coverage, Reached } from './coverage.ts';
import { mutate } from './mutate.ts';
import { checkPrototypes } from './prototypes.ts';
import { shrink } from './shrink.ts';

/** A parser at the edge, with the properties that must hold for any input. */
export type Target = {
  /** The first inputs. Like all inputs, they are bytes, as characters from 0 to 255. */
  readonly seeds: readonly string[];
  /** Words with a meaning for the parser. */
  readonly dictionary: readonly string[];
  /** Returns whether the parser accepted the input. Throws if a property does not hold. */
  readonly check: (input: string) => boolean | Promise<boolean>;
};

type FuzzFigures = {
  readonly inputs: number;
  /** The number of accepted inputs. */
  readonly taken: number;
  /** The number of inputs that reached new code, including the seeds. */
  readonly corpus: number;
};

/** Reading V8's counts takes a few milliseconds, so they are read after this many inputs. */
const BATCH = 64;

/** The limit for entered blocks: a multiple of what any parser needs, and proportional to the length. */
const WORK_PER_INPUT = 1_000;
const WORK_PER_BYTE = 20;

/**
 * Tests a target with mutated inputs. Inputs that reach new code are mutated again. The seed determines
 * everything.
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

  /** Prefers short inputs, because a change of a long one mostly hits a meaningless part. */
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
      throw new Error(`a property does not hold for ${JSON.stringify(shortest)}`, { cause });
    }
  }

  /** Splits a batch that reached new code until the input is found that did. */
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
    // Code that runs only once, when it is first needed, must not count for a later input.
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

const MAX_INPUT_LENGTH = 1_048_576;
/** The number of inputs, and the length of the current one. */
const HEAD_LENGTH = 8;

/** Ends this process if an input never finishes: see `watchdog.js`. */
class Watchdog {
  readonly #memory = new SharedArrayBuffer(HEAD_LENGTH + MAX_INPUT_LENGTH);
  readonly #state = new Int32Array(this.#memory, 0, 2);
  readonly #bytes = Buffer.from(this.#memory, HEAD_LENGTH);
  readonly #worker = new Worker(new URL('watchdog.js', import.meta.url), {
    workerData: this.#memory,
  });

  /** Starts an input, which ends the last one. */
  begins(input: string): void {
    Atomics.store(this.#state, 1, this.#bytes.write(input, 'latin1'));
    Atomics.add(this.#state, 0, 1);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}
