import type { HttpRequest } from 'instep';
import { createFetchHandler } from 'instep-engine/src/http/fetch-handler.ts';
import { HttpError, jsonResponse } from 'instep-engine/src/http/http-message.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

const LIMIT_BYTES = 10;

/** Responds with the request's content. */
async function echo(request: HttpRequest) {
  try {
    const body = Buffer.from(await request.body(LIMIT_BYTES)).toString();
    const { method, path } = request;
    return jsonResponse({ method, path, cookie: request.header('cookie'), body });
  } catch (error) {
    if (error instanceof HttpError) return error.toResponse(request.path);
    throw error;
  }
}

const handle = createFetchHandler(echo);
const ask = (path: string, init: RequestInit = {}) =>
  handle(new Request(`http://localhost${path}`, init));

/** A body in chunks of one byte, which ends only if `ends` is set. */
function slowBody(sizeBytes: number, ends: boolean): RequestInit {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent < sizeBytes) controller.enqueue(Buffer.from('x'));
      else if (ends) controller.close();
      else await new Promise(() => undefined);
      sent += 1;
    },
  });
  return { method: 'POST', body, duplex: 'half' } as RequestInit;
}

test('passes on the method, the decoded path, the headers and the body', async () => {
  const init = { method: 'POST', headers: { cookie: 'a=b' }, body: 'hello' };
  const response = await ask('/api/%75ser?x=1', init);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual({
    method: 'POST',
    path: '/api/user',
    cookie: 'a=b',
    body: 'hello',
  });
});

test('answers HEAD without a body', async () => {
  expect(await (await ask('/', { method: 'HEAD' })).text()).toBe('');
});

test.each([
  ['declared', { method: 'POST', headers: { 'content-length': '11' }, body: 'x'.repeat(11) }],
  ['in chunks without an end', slowBody(LIMIT_BYTES + 1, false)],
])('answers 413 to a larger body: %s', async (_, init) => {
  expect((await ask('/', init)).status).toBe(413);
});

describe('with a clock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('answers 408 to a body that does not end within 10 seconds', async () => {
    const answer = ask('/', slowBody(5, false));
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await answer).status).toBe(408);
  });
});
