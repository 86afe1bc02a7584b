import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const FLOODER = fileURLToPath(new URL('flooder.js', import.meta.url));

type FloodOptions = {
  readonly count: number;
  /** The texts that new connections send, in rotation. */
  readonly texts: readonly string[];
  /** When it is sent again: after the answer, or at this interval in milliseconds. Default: never. */
  readonly again?: 'answered' | number;
  /** How long after its end a connection is opened again. Default: never. */
  readonly reopenAfterMs?: number;
  /** How many connections are being opened at a time. Default: all. */
  readonly atOnce?: number;
};

type FloodState = {
  readonly open: number;
  /** Connections that the server closed or refused. */
  readonly ended: number;
  /** The number of answers by status. */
  readonly answered: Readonly<Record<string, number>>;
};

export type Flood = {
  /** Opens more connections. Resolves when each is open or refused. */
  open(options: FloodOptions): Promise<FloodState>;
  state(): Promise<FloodState>;
  /** Stops sending again. */
  quiet(): Promise<FloodState>;
  /** Resets all connections. */
  close(): Promise<FloodState>;
  /** Ends the process. */
  end(): Promise<void>;
};

/** Starts a process that can flood the server at this URL. */
export function createFlood(url: string): Flood {
  const { hostname: host, port } = new URL(url);
  const child = fork(FLOODER, { execArgv: [] });
  child.setMaxListeners(0);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let sent = 0;

  function request(command: string, options = {}): Promise<FloodState> {
    sent += 1;
    const number = sent;
    return new Promise((resolve, reject) => {
      const early = () => reject(new Error(`the process ended before ${command} did`));
      const onMessage = (answer: { readonly number: number; readonly result: FloodState }) => {
        if (answer.number !== number) return;
        child.off('message', onMessage);
        child.off('exit', early);
        resolve(answer.result);
      };
      child.on('message', onMessage);
      child.once('exit', early);
      child.send({ number, command, options });
    });
  }

  return {
    open: (options) => request('open', { atOnce: options.count, ...options, host, port }),
    state: () => request('state'),
    quiet: () => request('quiet'),
    close: () => request('close'),
    async end() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
