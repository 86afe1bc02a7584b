import { type Profiler, Session } from 'node:inspector';

/** The parsers, and the packages that do a part of their work. */
const WATCHED = /\/src\/(stripe|sessions)\/|\/node_modules\/(stripe|jose|valibot)\//;

/** What was reached since the last look. */
export type Reached = {
  /** Of each script, by its URL, a 1 for each character that ran. */
  readonly scripts: ReadonlyMap<string, Uint8Array>;
  /** How often a block was entered, all of them together. */
  readonly work: number;
};

type Script = {
  readonly reached: Uint8Array;
  /** Where blocks begin; those outside of named functions are mostly the test runner's. */
  readonly starts: Set<number>;
};

export type BlockFigures = { readonly blocks: number; readonly reachedBlocks: number };

/**
 * What V8 counts of the watched scripts, block by block. Only scripts that are loaded afterwards are
 * counted, so the parsers must be imported after this was made.
 */
export class Coverage {
  readonly #session = new Session();
  readonly #scripts = new Map<string, Script>();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** What was reached since the last call. It is not known before it is learned. */
  take(): Reached {
    const scripts = new Map<string, Uint8Array>();
    let work = 0;
    for (const { url, functions } of this.#counts()) {
      if (!WATCHED.test(url)) continue;
      const { starts, reached } = this.#scriptOf(url, functions);
      const painted = new Uint8Array(reached.length);
      let isNamedUntil = 0;
      // Functions stand before those within them, and blocks too: the inner ones have the last word.
      for (const { functionName, ranges } of functions) {
        if (functionName !== '') isNamedUntil = Math.max(isNamedUntil, ranges[0]?.endOffset ?? 0);
        for (const { startOffset, endOffset, count } of ranges) {
          painted.fill(count > 0 ? 1 : 0, startOffset, endOffset);
          if (startOffset < isNamedUntil) starts.add(startOffset);
          work += count;
        }
      }
      scripts.set(url, painted);
    }
    return { scripts, work };
  }

  /** Whether anything of it was not learned before. */
  isNew({ scripts }: Reached): boolean {
    return [...scripts].some(([url, painted]) => {
      const known = this.#scripts.get(url)?.reached;
      return painted.some((isReached, offset) => isReached === 1 && known?.[offset] !== 1);
    });
  }

  learn({ scripts }: Reached): void {
    for (const [url, painted] of scripts) {
      const known = this.#scripts.get(url)?.reached;
      if (known === undefined) continue;
      for (const [offset, isReached] of painted.entries()) known[offset] ||= isReached;
    }
  }

  /** Of the scripts with such URLs. A function that never ran counts as one block. */
  figures(urls: RegExp): BlockFigures {
    const figures = { blocks: 0, reachedBlocks: 0 };
    for (const [url, { starts, reached }] of this.#scripts) {
      if (!urls.test(url)) continue;
      figures.blocks += starts.size;
      figures.reachedBlocks += [...starts].filter((start) => reached[start] === 1).length;
    }
    return figures;
  }

  stop(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  #counts(): readonly Profiler.ScriptCoverage[] {
    let counts: readonly Profiler.ScriptCoverage[] = [];
    // The answer comes before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error;
      counts = answer.result;
    });
    return counts;
  }

  /** The first look at a script shows all of it, since it ran when it was loaded. */
  #scriptOf(url: string, functions: readonly Profiler.FunctionCoverage[]): Script {
    const known = this.#scripts.get(url);
    if (known !== undefined) return known;
    const ranges = functions.flatMap((one) => one.ranges);
    const length = Math.max(...ranges.map(({ endOffset }) => endOffset));
    const script = { reached: new Uint8Array(length), starts: new Set<number>() };
    this.#scripts.set(url, script);
    return script;
  }
}
