import { connect } from 'node:net';
import { checkResponse } from '../secrets/leaks.ts';

/** A connection on which a test can send any bytes. */
export type RawConnection = {
  write(bytes: string | Uint8Array): void;
  /** Ends the sending side, and continues to receive. */
  halfClose(): void;
  /** Everything received so far. */
  readonly received: string;
  /** Resolves as soon as the received text matches. */
  receives(pattern: RegExp): Promise<string>;
  /** Resolves with the received text when the server has closed the connection. */
  closed(): Promise<string>;
  destroy(): void;
};

/** Opens a connection to the server of this URL. */
export function openConnection(url: string): RawConnection {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = '';
  let isClosed = false;
  const waiting = new Set<() => void>();
  const changed = () => {
    for (const look of waiting) look();
  };
  const ended = () => {
    if (!isClosed) checkResponse(url, received);
    isClosed = true;
    socket.end();
    changed();
  };
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    received += text;
    changed();
  });
  socket.on('end', ended);
  // A reset counts as closed. Data received before it stays.
  socket.on('error', ended);
  socket.on('close', ended);

  function until(isDone: () => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (isDone()) resolve(received);
        else if (isClosed) reject(new Error(`closed after ${JSON.stringify(received)}`));
        else return;
        waiting.delete(look);
      };
      waiting.add(look);
      look();
    });
  }

  return {
    write: (bytes) => {
      socket.write(bytes);
    },
    halfClose: () => {
      socket.end();
    },
    get received() {
      return received;
    },
    receives: (pattern) => until(() => pattern.test(received)),
    closed: () => until(() => isClosed),
    destroy: () => {
      socket.destroy();
    },
  };
}

/** Writes these bytes, and returns what the server sends until it closes the connection. */
export async function exchange(url: string, bytes: string | Uint8Array): Promise<string> {
  const connection = openConnection(url);
  connection.write(bytes);
  return await connection.closed();
}

/** The status codes of the received responses, in order. */
export function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
