import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** So many of those that wait are heard again in one turn of the event loop. */
const HEARD_IN_A_TURN = 8;

type Waiting = {
  readonly connection: Socket;
  /** How long it may be idle. */
  readonly idleMs: number;
};

/**
 * Has connections take turns while their requests are too many. In one turn of the event loop Node
 * takes a single new connection, but reads from each that has something to say, up to 48 times a
 * thousand: if each were heard again at once, nobody else would be for seconds.
 */
export class Turns {
  readonly #waiting: Waiting[] = [];
  #hasNewcomer = false;

  /** Whether somebody waits, so that others should not be heard before them. */
  get areTaken(): boolean {
    return this.#waiting.length > 0;
  }

  /** Hears of a new connection. There may be more, of which the next turn takes one. */
  welcome(): void {
    this.#hasNewcomer = true;
  }

  /** Lets the connection wait for its turn when this request was answered. */
  takeAfter(request: IncomingMessage, response: ServerResponse): void {
    let hasEnded = false;
    const end = () => {
      if (hasEnded) this.#wait(request.socket);
      hasEnded = true;
    };
    // Before both were closed Node would read on, whatever we say.
    request.once('close', end);
    response.once('close', end);
  }

  #wait(connection: Socket): void {
    connection.pause();
    this.#waiting.push({ connection, idleMs: connection.timeout ?? 0 });
    // It may have said something long ago: it is for us that it waits.
    connection.setTimeout(0);
    if (this.#waiting.length === 1) setImmediate(() => this.#hearNext());
  }

  #hearNext(): void {
    // Newcomers come first, since theirs are short turns, but never alone.
    const count = this.#hasNewcomer ? 1 : HEARD_IN_A_TURN;
    this.#hasNewcomer = false;
    for (const { connection, idleMs } of this.#waiting.splice(0, count)) {
      connection.setTimeout(idleMs);
      connection.resume();
    }
    if (this.areTaken) setImmediate(() => this.#hearNext());
  }
}
