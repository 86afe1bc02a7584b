import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const FLOODER = fileURLToPath(new URL('flooder.js', import.meta.url));

export type FloodOptions = {
  readonly count: number;
  /** What is said on a connection as soon as it is open; in turns. */
  readonly texts: readonly string[];
  /** When it is said again: when it was answered, or each so many milliseconds. Never, unless told. */
  readonly again?: 'answered' | number;
  /** How long after its end a connection is opened again; not at all, unless told. */
  readonly reopenAfterMs?: number;
  /** How many are on the way at a time; all, unless told. */
  readonly atOnce?: number;
};

export type FloodState = {
  readonly open: number;
  /** Those that the server ended, or did not take. */
  readonly ended: number;
  /** How often each status was answered. */
  readonly answered: Readonly<Record<string, number>>;
};

export type Flood = {
  /** Opens more connections; resolves when each was opened or refused. */
  open(options: FloodOptions): Promise<FloodState>;
  state(): Promise<FloodState>;
  /** From now on nothing is said again. */
  quiet(): Promise<FloodState>;
  /** Resets all of them. */
  close(): Promise<FloodState>;
  /** Ends the process that they belong to. */
  end(): Promise<void>;
};

/** A process that floods the server of this URL when it is told to. */
export function createFlood(url: string): Flood {
  const { hostname: host, port } = new URL(url);
  const child = fork(FLOODER, { execArgv: [] });
  child.setMaxListeners(0);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let sent = 0;

  function tell(command: string, options = {}): Promise<FloodState> {
    sent += 1;
    const number = sent;
    return new Promise((resolve, reject) => {
      const early = () => reject(new Error(`the process ended before ${command} did`));
      const hear = (answer: { readonly number: number; readonly result: FloodState }) => {
        if (answer.number !== number) return;
        child.off('message', hear);
        child.off('exit', early);
        resolve(answer.result);
      };
      child.on('message', hear);
      child.once('exit', early);
      child.send({ number, command, options });
    });
  }

  return {
    open: (options) => tell('open', { atOnce: options.count, ...options, host, port }),
    state: () => tell('state'),
    quiet: () => tell('quiet'),
    close: () => tell('close'),
    async end() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
