import { type Profiler, Session } from 'node:inspector';

/** The parsers, and the packages that they use. */
const WATCHED = /\/src\/(stripe|sessions)\/|\/node_modules\/(stripe|jose|valibot)\//;

/** The code that ran since the last call. */
export type Reached = {
  /** For each script, by its URL: 1 for each character that ran. */
  readonly scripts: ReadonlyMap<string, Uint8Array>;
  /** The total number of times that blocks were entered. */
  readonly work: number;
};

type Script = {
  readonly reached: Uint8Array;
  /** The offsets of blocks in named functions. Other blocks are mostly the test runner's. */
  readonly starts: Set<number>;
};

type BlockFigures = { readonly blocks: number; readonly reachedBlocks: number };

/**
 * V8's coverage of the watched scripts, block by block. It includes only scripts that are loaded later, so
 * the parsers must be imported after this object is created.
 */
export class Coverage {
  readonly #session = new Session();
  readonly #scripts = new Map<string, Script>();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Returns the code that ran since the last call. It counts as new until it is learned. */
  take(): Reached {
    const scripts = new Map<string, Uint8Array>();
    let work = 0;
    for (const { url, functions } of this.#counts()) {
      if (!WATCHED.test(url)) continue;
      const { starts, reached } = this.#scriptOf(url, functions);
      const ran = new Uint8Array(reached.length);
      let isNamedUntil = 0;
      // Functions and blocks come before those nested in them, so the innermost count wins.
      for (const { functionName, ranges } of functions) {
        if (functionName !== '') isNamedUntil = Math.max(isNamedUntil, ranges[0]?.endOffset ?? 0);
        for (const { startOffset, endOffset, count } of ranges) {
          ran.fill(count > 0 ? 1 : 0, startOffset, endOffset);
          if (startOffset < isNamedUntil) starts.add(startOffset);
          work += count;
        }
      }
      scripts.set(url, ran);
    }
    return { scripts, work };
  }

  /** Whether any of this code has not been learned yet. */
  isNew({ scripts }: Reached): boolean {
    return [...scripts].some(([url, ran]) => {
      const known = this.#scripts.get(url)?.reached;
      return ran.some((isReached, offset) => isReached === 1 && known?.[offset] !== 1);
    });
  }

  learn({ scripts }: Reached): void {
    for (const [url, ran] of scripts) {
      const known = this.#scripts.get(url)?.reached;
      if (known === undefined) continue;
      for (const [offset, isReached] of ran.entries()) known[offset] ||= isReached;
    }
  }

  /** The figures of the scripts with matching URLs. A function that never ran counts as one block. */
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
    // The callback is called before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error;
      counts = answer.result;
    });
    return counts;
  }

  /** The first coverage of a script includes all of its ranges, because it ran when it was loaded. */
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
