import type { Handler } from '../server/http-message.ts';
import { REQUEST_TIMEOUT_MS } from '../server/listener.ts';
import { readBody } from '../server/read-body.ts';
import { decodePath } from '../server/router.ts';

/** A handler for requests of the Fetch API, with the same limits as the server's. */
export function createFetchHandler(handle: Handler): (request: Request) => Promise<Response> {
  return async (request) => {
    const header = (name: string) => request.headers.get(name);
    const { status, headers, body } = await handle({
      method: request.method,
      path: decodePath(new URL(request.url).pathname),
      header,
      body: (limitBytes) => readBody(bodyInTime(request), header('content-length'), limitBytes),
    });
    return new Response(request.method === 'HEAD' ? null : body, { status, headers });
  };
}

/** The chunks of the body. They end with an error when they take longer than the server allows. */
async function* bodyInTime({ body }: Request): AsyncIterable<Uint8Array> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  if (body !== null) yield* body.pipeThrough(new TransformStream(), { signal });
}
