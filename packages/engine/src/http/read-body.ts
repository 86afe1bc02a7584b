// Bounds the size, the time and the memory of bodies. node-listener.ts and fetch-handler.ts pass on the chunks.

import { InstepError } from '../runtime/errors.ts';
import { bodyTooLarge, HttpError } from './http-message.ts';

/** The time for a request to arrive completely. */
export const REQUEST_TIMEOUT_MS = 10_000;

/** The app's own parser has read the body, so its exact bytes are gone. */
export class BodyAlreadyRead extends InstepError {
  readonly code = 'BODY_ALREADY_READ';

  constructor() {
    super(
      "The body was read before Instep received the request, so the signature can't be verified: " +
        'mount Instep before express.json() and any other body parser.',
    );
  }
}

/** The limits for all unfinished bodies together. */
const MAX_UNFINISHED_BODIES = 1_000;
const MAX_UNFINISHED_BYTES = 33_554_432;

type UnfinishedBody = { sizeBytes: number; abort: () => void };

/**
 * Limits the number and the memory of bodies that are still arriving, and so can't be verified yet. The oldest ones
 * are aborted to make room: an honest sender needs only milliseconds.
 */
export class UnfinishedBodies {
  #bodies = new Set<UnfinishedBody>();
  #totalBytes = 0;

  begin(abort: () => void): UnfinishedBody {
    const body = { sizeBytes: 0, abort };
    this.#bodies.add(body);
    this.#makeRoom();
    return body;
  }

  grow(body: UnfinishedBody, sizeBytes: number): void {
    body.sizeBytes += sizeBytes;
    this.#totalBytes += sizeBytes;
    this.#makeRoom();
  }

  end(body: UnfinishedBody): void {
    if (this.#bodies.delete(body)) this.#totalBytes -= body.sizeBytes;
  }

  #makeRoom(): void {
    for (const oldest of this.#bodies) {
      const hasRoom =
        this.#bodies.size <= MAX_UNFINISHED_BODIES && this.#totalBytes <= MAX_UNFINISHED_BYTES;
      // A single body is limited by its own maximum.
      if (hasRoom || this.#bodies.size === 1) return;
      this.end(oldest);
      oldest.abort();
    }
  }
}

type BodySource = {
  declaredLength: string | null;
  unfinished: UnfinishedBodies;
  /**
   * Passes each chunk to `onChunk`, which returns whether it needs more. Rejects when the body is cut off.
   */
  read(onChunk: (chunk: Uint8Array) => boolean): Promise<unknown>;
  abort(): void;
};

/**
 * The exact bytes of a body, up to a limit.
 *
 * @throws HttpError 413 for a larger body, 408 for one that did not arrive completely
 */
export async function readBody(source: BodySource, limitBytes: number): Promise<Uint8Array> {
  const { declaredLength, unfinished } = source;
  if (Number(declaredLength) > limitBytes) throw bodyTooLarge(limitBytes);
  const received: Uint8Array[] = [];
  const body = unfinished.begin(() => source.abort());
  try {
    await new Promise((resolve, reject) => {
      function onChunk(chunk: Uint8Array): boolean {
        if (body.sizeBytes > limitBytes) return false;
        received.push(chunk);
        unfinished.grow(body, chunk.byteLength);
        if (body.sizeBytes > limitBytes) reject(bodyTooLarge(limitBytes));
        return body.sizeBytes <= limitBytes;
      }
      source
        .read(onChunk)
        .then(resolve, () =>
          reject(new HttpError(408, 'The body did not arrive completely in time.')),
        );
    });
    return Buffer.concat(received, body.sizeBytes);
  } finally {
    unfinished.end(body);
    // The source can hold on to `onChunk` until the sender has gone.
    received.length = 0;
  }
}
