import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import type { Issue } from 'instep/operate';
import { createAlertsJob } from 'instep-operate/host';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createDatabase } from '../support/postgres/test-database.ts';
import { runInstep, startInstep } from '../support/process/instep-process.ts';

/** A chat or a program that receives alerts. */
type Message = { path: string; text: string; issues?: object[] };
const messages: Message[] = [];
let status = 200;
async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
}
const receiver = createServer(async (request, response) => {
  messages.push({ path: request.url ?? '', ...JSON.parse((await bodyOf(request)) || '{}') });
  response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('ok');
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const { port } = receiver.address() as AddressInfo;
const address = (path: string) => new URL(`http://127.0.0.1:${port}${path}`);

const { database, url: databaseUrl } = await createDatabase();
const { query } = database;
afterAll(async () => {
  await database.close();
  await new Promise((resolve) => receiver.close(resolve));
});

const SECRET_PATH = '/canaryReceiver';
const consoleUrl = new URL('https://app.example.com/admin/billing');
const NOW_MS = Date.parse('2026-11-26T03:00:00Z');

type Reported = Pick<Issue, 'code' | 'severity' | 'text'>;
const teamsOutOfSync = (count: number): Reported => ({
  ...{ code: 'out-of-sync', severity: 'failure', text: `${count} teams out of sync with Stripe` },
});
const jobFailed = (severity: Issue['severity'] = 'warning'): Reported => ({
  ...{ code: 'job-failed', severity, text: 'The job has failed (A<B>&C)' },
});

let issues: Reported[] = [];
function instance(holder: string, path = SECRET_PATH) {
  const alerts = { url: address(path), consoleUrl };
  const readIssues = async () => issues;
  const job = createAlertsJob({ query, alerts, readIssues, now: () => NOW_MS, holder });
  return async (signal = new AbortController().signal) => void (await job.run(signal));
}
const minutePasses = () =>
  query(
    `update instep.leased_jobs
        set started_at = now() - interval '61 seconds',
            attempt_at = null
      where name = 'alerts'`,
  );

beforeEach(async () => {
  issues = [];
  messages.length = 0;
  status = 200;
  await query(`update instep.leased_jobs
                  set progress = null, started_at = null, ended_at = null, attempt_at = null, holder = null, held_until = null
                where name = 'alerts'`);
});

test('one of the instances reports what is open, once a minute', async () => {
  const [one, other] = [instance('one'), instance('other')];
  await one();
  expect(messages).toEqual([]);
  await minutePasses();
  issues = [teamsOutOfSync(3), jobFailed()];
  await Promise.all([one(), other()]);
  const failed = { code: 'job-failed', severity: 'warning' };
  expect(messages).toEqual([
    {
      path: SECRET_PATH,
      at: '2026-11-26T03:00:00.000Z',
      text: expect.stringMatching(/Failure: 3 teams out of sync.*\nWarning: The job/),
      issues: [
        {
          ...teamsOutOfSync(3),
          url: 'https://app.example.com/admin/billing/attention?issue=out-of-sync',
        },
        { ...jobFailed(), url: 'https://app.example.com/admin/billing/' },
      ],
    },
  ]);
  issues = [jobFailed()];
  await Promise.all([one(), other()]);
  expect(messages).toHaveLength(1);
  await minutePasses();
  await Promise.all([one(), other()]);
  issues = [];
  await minutePasses();
  await Promise.all([one(), other()]);
  expect(messages.slice(1)).toMatchObject([{ issues: [failed] }, { issues: [] }]);
});

test('an issue that stays is reported again only if its severity has changed', async () => {
  const run = instance('one');
  const next = async (...given: Reported[]) => {
    issues = given;
    messages.length = 0;
    await run();
    await minutePasses();
    return messages.map(({ issues = [] }) => issues.length);
  };
  expect(await next(jobFailed('notice'))).toEqual([]);
  expect(await next(jobFailed(), teamsOutOfSync(1))).toEqual([2]);
  expect(await next(jobFailed(), teamsOutOfSync(400))).toEqual([]);
  expect(await next(jobFailed('failure'), teamsOutOfSync(400))).toEqual([2]);
  expect(await next(jobFailed('failure'), teamsOutOfSync(2))).toEqual([]);
  expect(await next(jobFailed('warning'), teamsOutOfSync(2))).toEqual([2]);
  expect(await next(jobFailed('notice'), teamsOutOfSync(2))).toEqual([1]);
});

describe('a message that is not accepted', () => {
  test.each([500, 404, 302])('with %i is sent again after a pause', async (answered) => {
    const run = instance('one');
    issues = [teamsOutOfSync(3)];
    status = answered;
    const error = await run().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'ALERT_FAILED' });
    expect(inspect(error)).not.toContain(SECRET_PATH);
    expect(messages.map(({ path }) => path)).toEqual([SECRET_PATH]);
    status = 200;
    await run();
    expect(messages).toHaveLength(1);
    await minutePasses();
    await run();
    expect(messages[1]).toMatchObject({ issues: [{ code: 'out-of-sync' }] });
  });

  test('because nothing listens there has no address in its error', async () => {
    const url = new URL(`http://127.0.0.1:1${SECRET_PATH}`);
    issues = [teamsOutOfSync(3)];
    const options = { query, alerts: { url, consoleUrl }, readIssues: async () => issues };
    const job = createAlertsJob({ ...options, now: () => NOW_MS, holder: 'one' });
    const error = await Promise.resolve(job.run(new AbortController().signal)).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'ALERT_FAILED' });
    expect(inspect(error)).not.toContain(SECRET_PATH);
  });
});

test("Slack's format has links and nothing that a text could forge", async () => {
  issues = [jobFailed(), teamsOutOfSync(3)];
  await instance('one', '/services/T1/slack')();
  const [message] = messages;
  expect(Object.keys(message ?? {})).toEqual(['path', 'text']);
  const link = 'https://app.example.com/admin/billing/attention?issue=out-of-sync';
  expect(message?.text).toContain(`Failure: 3 teams out of sync with Stripe. ${link}`);
  expect(message?.text).toContain('A&lt;B&gt;&amp;C');
});

test('a server reports an issue, and the command tries the receiver', async () => {
  const environment = {
    DATABASE_URL: databaseUrl.href,
    ALERT_WEBHOOK_URL: address(SECRET_PATH).href,
  };
  const server = await startInstep(environment);
  try {
    const body = JSON.stringify({
      id: 'evt_1',
      type: 'customer.subscription.updated',
      data: { object: {} },
    });
    await server.post(body);
    const codes = () => messages.flatMap(({ issues = [] }) => issues);
    await expect
      .poll(codes, { timeout: 20_000 })
      .toContainEqual(expect.objectContaining({ code: 'unreadable-event' }));
  } finally {
    await server.stop();
  }
  messages.length = 0;
  const tried = await runInstep(['alerts', 'test'], environment);
  expect(tried).toMatchObject({ code: 0, stderr: expect.stringContaining('accepted') });
  expect(messages).toMatchObject([{ text: expect.stringContaining('test'), issues: [] }]);
  status = 403;
  const refused = await runInstep(['alerts', 'test'], environment);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('ALERT_FAILED') });
  const off = await runInstep(['alerts', 'test'], { DATABASE_URL: databaseUrl.href });
  expect(off).toMatchObject({ code: 2, stderr: expect.stringContaining('ALERT_WEBHOOK_URL') });
});
