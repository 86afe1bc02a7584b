// Between a `Request` of the Fetch API and a `Handler`, as node-listener.ts is for node:http.

import { decodePath, type Handler } from './http-message.ts';
import { BodyAlreadyRead, REQUEST_TIMEOUT_MS, readBody, UnfinishedBodies } from './read-body.ts';

/** A handler for requests of the Fetch API, with the same limits as the server's. */
export function createFetchHandler(handle: Handler): (request: Request) => Promise<Response> {
  const unfinished = new UnfinishedBodies();
  return async (request) => {
    const header = (name: string) => request.headers.get(name);
    const { status, headers, body } = await handle({
      method: request.method,
      path: decodePath(new URL(request.url).pathname),
      header,
      async body(limitBytes) {
        if (request.bodyUsed || request.body?.locked) throw new BodyAlreadyRead();
        const declaredLength = header('content-length');
        const controller = new AbortController();
        const abort = () => controller.abort();
        const timer = setTimeout(abort, REQUEST_TIMEOUT_MS);
        const read = (onChunk: (chunk: Uint8Array) => boolean) =>
          readChunks(request, controller.signal, onChunk);
        try {
          return await readBody({ declaredLength, unfinished, read, abort }, limitBytes);
        } finally {
          clearTimeout(timer);
        }
      },
    });
    return new Response(request.method === 'HEAD' ? null : body, { status, headers });
  };
}

async function readChunks(
  { body }: Request,
  signal: AbortSignal,
  onChunk: (chunk: Uint8Array) => boolean,
): Promise<void> {
  if (body === null) return;
  for await (const chunk of body.pipeThrough(new TransformStream(), { signal })) {
    if (!onChunk(chunk)) return;
  }
}
