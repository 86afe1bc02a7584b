// One program on one host. Its output goes to a log file.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { commandOn } from './network.js';

export class Program {
  #options;
  #child;
  #exited;
  #isStopping = false;

  constructor(options) {
    this.#options = options;
  }

  /** Starts the program, also when it has ended before. */
  start() {
    const { host, command, user, env, folder, name } = this.#options;
    const log = openSync(join(folder, `${host}-${name}.log`), 'a');
    const [program, ...args] = commandOn(host, command, user);
    const stdio = ['ignore', log, log];
    // In a session of its own, so that Ctrl-C reaches only the bench.
    this.#child = spawn(program, args, { env, stdio, detached: true, cwd: folder });
    this.#exited = once(this.#child, 'exit');
    this.#isStopping = false;
    void this.#exited.then(([code]) => {
      // The code is null after a signal, which is one of the faults.
      if (code !== null && !this.#isStopping)
        throw new Error(`${host}: ${name} exited with ${code}`);
    });
  }

  /** Sends the signal, and waits until the program has ended. */
  async stop(signal) {
    this.#isStopping = true;
    this.#child.kill(signal);
    await this.#exited;
  }

  async restart(signal) {
    await this.stop(signal);
    this.start();
  }

  freeze() {
    this.#child.kill('SIGSTOP');
  }

  unfreeze() {
    this.#child.kill('SIGCONT');
  }
}
