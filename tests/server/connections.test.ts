import { createLogger, type Handler, listen } from 'instep';
import { expect, onTestFinished, test } from 'vitest';
import { openConnection, statusesIn } from '../support/network/raw-connection.ts';

const GET = 'GET /one HTTP/1.1\r\nHost: x\r\n\r\n';
const CLOSE = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

const logger = createLogger('silent', { write: () => undefined });
const jsonResponse = (value: unknown) => ({
  status: 200,
  headers: {},
  body: JSON.stringify(value),
});

async function serve(handle: Handler): Promise<string> {
  const server = await listen({ host: '127.0.0.1', port: 0, handle, logger });
  onTestFinished(() => server.close(0));
  return server.url;
}

test('a connection with more than eight unanswered requests is closed, and others are answered', async () => {
  let handled = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const url = await serve(async () => {
    handled += 1;
    await opened;
    return jsonResponse(handled);
  });
  const patient = openConnection(url);
  patient.write(GET.repeat(7) + CLOSE);
  const flood = openConnection(url);
  flood.write(GET.repeat(1_600));
  expect(await flood.closed()).toBe('');
  expect(handled).toBeLessThanOrEqual(16);
  open();
  expect(statusesIn(await patient.closed())).toEqual(Array(8).fill(200));
});
