import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { createLogger, listen, type RunningServer, readConfig } from 'instep';
import { openService, type Service } from 'instep/src/instep.ts';
import { signWebhook } from 'instep/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addTeam } from './support/internals/rows.ts';
import { WEBHOOK_PATH } from './support/internals/server.ts';
import { createMigratedDatabase } from './support/postgres/test-database.ts';
import { SETTINGS } from './support/process/instep-process.ts';
import { WEBHOOK_SECRET } from './support/secrets/test-secrets.ts';
import { eventBody } from './support/stripe/events.ts';

const architecture = readFileSync(new URL('../docs/ARCHITECTURE.md', import.meta.url), 'utf8');
const [, section = ''] = /## From socket to commit\n(.*?)\n## /s.exec(architecture) ?? [];
const filesIn = (pattern: RegExp) => [...section.matchAll(pattern)].map(([, path = '']) => path);
const steps = filesIn(/^\d+\. `packages\/\w+\/(src\/[\w/.-]+)`/gm);

let service: Service;
let server: RunningServer;
const profiler = new Session();

beforeAll(async () => {
  const url = await createMigratedDatabase();
  const config = readConfig({ ...SETTINGS, DATABASE_URL: url.href });
  const logger = createLogger('info', { write: () => undefined });
  service = await openService({ config, logger, maintenance: 'off' });
  server = await listen({ ...config, handle: service.handle, logger });
  profiler.connect();
  await profiler.post('Profiler.enable');
  await profiler.post('Profiler.startPreciseCoverage', { callCount: true });
});

afterAll(async () => {
  profiler.disconnect();
  await server?.close(1_000);
  await service?.close();
});

async function post(body: string, secret = WEBHOOK_SECRET): Promise<number> {
  const headers = { 'stripe-signature': signWebhook(body, secret, Date.now()) };
  const response = await fetch(`${server.url}${WEBHOOK_PATH}`, { method: 'POST', body, headers });
  return response.status;
}

/** The files below `src` whose functions were called since the last call of this function. */
async function filesCalled(): Promise<string[]> {
  const { result } = await profiler.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .flatMap(({ url }) => /\/(src\/[\w/-]+\.tsx?)$/.exec(url)?.[1] ?? [])
    .filter((path) => !path.startsWith('src/testing/'));
}

test('events pass through every step of the architecture page', async () => {
  const customerId = 'cus_1';
  await addTeam(service.query, { name: 'Team', customerId });
  await post(eventBody({ customerId }));
  const calledOnce = await filesCalled();

  const first = eventBody({ customerId, createdSeconds: 1_800_000_000 });
  const statuses = [
    await post(first),
    await post(first),
    // Nothing shows whether this event came before the first one.
    await post(eventBody({ customerId, createdSeconds: 1_800_000_000, status: 'unpaid' })),
    await post(eventBody({ customerId: 'cus_without_team' })),
    await post(eventBody({ customerId }), 'whsec_forged'),
  ];
  expect(statuses).toEqual([200, 200, 200, 200, 400]);

  const called = [...calledOnce, ...(await filesCalled())];
  expect(steps.length).toBeGreaterThan(5);
  expect(steps.filter((path) => !called.includes(path))).toEqual([]);
});
