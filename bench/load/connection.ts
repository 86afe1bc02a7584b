import { connect, type Socket } from 'node:net';

export type Answer = { readonly status: number; readonly body: string };

type ConnectionOptions = {
  readonly host: string;
  readonly port: number;
  /** Receives the response to the last request; `null` when the connection ended first. */
  readonly onAnswer: (answer: Answer | null) => void;
};

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';
const BUFFER_BYTES = 65_536;

/**
 * A connection that sends raw bytes and receives one response to each request. It reads into one
 * buffer and knows just enough HTTP to find the end of a response, so that it measures the server
 * and not the client.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #socket: Socket | null = null;
  #received = '';
  #isWaiting = false;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Sends a request. Opens the connection when there is none. */
  send(request: Buffer): void {
    this.#isWaiting = true;
    this.#socket ??= this.#open();
    this.#socket.write(request);
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #open(): Socket {
    const { host, port } = this.#options;
    const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    const receive = (length: number) => {
      this.#received += buffer.toString('latin1', 0, length);
      this.#parseResponse();
      return true;
    };
    const socket = connect({ host, port, noDelay: true, onread: { buffer, callback: receive } });
    // The close event reports every error.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#socket = null;
      this.#received = '';
      if (!this.#isWaiting || this.#isClosed) return;
      this.#isWaiting = false;
      this.#options.onAnswer(null);
    });
    return socket;
  }

  #parseResponse(): void {
    const answer = completeAnswer(this.#received);
    if (answer === null) return;
    this.#received = '';
    this.#isWaiting = false;
    this.#options.onAnswer(answer);
  }
}

/** The response, when it is complete. */
function completeAnswer(received: string): Answer | null {
  const end = received.indexOf(HEAD_END);
  if (end < 0) return null;
  const head = received.slice(0, end);
  const body = received.slice(end + HEAD_END.length);
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
  const isComplete =
    length === undefined ? body.endsWith(LAST_CHUNK) : body.length >= Number(length);
  return isComplete ? { status: Number(head.slice(9, 12)), body } : null;
}
