import { createExposition } from 'instep/src/metrics/series.ts';
import { openOperations } from 'instep/src/operations/open-operations.ts';
import { connectToServer } from 'instep/src/postgres/connect.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { expect, test, vi } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
import { API_KEY, OPERATIONS_TOKEN } from '../support/secrets/test-secrets.ts';

test.each([
  ['on this machine', null],
  ['with a token', OPERATIONS_TOKEN],
])('the overview is read before the first request, %s', async (_, token) => {
  const { url } = await createDatabase();
  const server = await connectToServer({
    databaseUrls: [url],
    dataFolder: '',
    notice: () => undefined,
  });
  const lines: string[] = [];
  const operations = await openOperations({
    config: {
      operations: { host: '127.0.0.1', port: 0, token },
      stripeApi: { secretKey: API_KEY, baseUrl: new URL('http://127.0.0.1:9') },
      planSelection: 'newest',
      maxQueuedEvents: 1_000,
    },
    logger: createLogger('info', { write: (line) => lines.push(line) }),
    now: Date.now,
  });
  const query = vi.fn();
  const open: typeof server.open = (options) => {
    const database = server.open(options);
    return { ...database, query: query.mockImplementation(database.query) };
  };
  await operations?.show(
    { ...server, open },
    createExposition(async () => []),
  );
  await operations?.close(1_000);
  expect(query).toHaveBeenCalled();
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['operations listening']);
});
