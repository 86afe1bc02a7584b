import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Job, Requests } from '../../bench/load/job.ts';
import { prepareRequests } from '../../bench/load/outgoing.ts';
import { runJob } from '../../bench/load/run-job.ts';
import { contentOf } from '../../bench/load/subscription-event.ts';
import { SignatureVerifier } from '../support/internals/stripe.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';

const TEAMS = 100;

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function bodyOfRequest(request: IncomingMessage): Promise<Buffer> {
  return Buffer.concat(await request.toArray());
}

const send = async (job: Pick<Job, 'url'> & Partial<Job> & { requests: Requests }) => {
  const complete = { connections: 4, seconds: 60, ratePerSecond: null, ...job };
  return await runJob(complete, prepareRequests(complete));
};

const events = (first: number, count: number): Requests => ({
  kind: 'events',
  path: '/hook',
  secret: WEBHOOK_SECRET,
  mix: 'changes',
  teams: TEAMS,
  first,
  count,
  isSignedLate: false,
});

test('the events of a job arrive signed, each once and in order', async () => {
  const verifier = new SignatureVerifier([WEBHOOK_SECRET]);
  const ids: string[] = [];
  const url = await listen(async (request, response) => {
    const signature = verifier.parse(String(request.headers['stripe-signature']));
    const body = verifier.verify(await bodyOfRequest(request), signature, Date.now());
    ids.push(JSON.parse(body).id);
    response.end('{}');
  });
  for (const ratePerSecond of [null, 1_000]) {
    ids.length = 0;
    const seconds = ratePerSecond === null ? 60 : 0.2;
    const load = await send({ url, ratePerSecond, seconds, requests: events(7, 50) });
    expect(load).toMatchObject({ answered: 50, failures: {} });
    const expected = Array.from({ length: 50 }, (_, index) => contentOf(7 + index, TEAMS).eventId);
    expect(ids.sort()).toEqual(expected);
  }
});

test('a response other than 200 or with another body is a failure', async () => {
  let count = 0;
  const refuses = await listen((_request, response) => {
    count += 1;
    response.writeHead(count === 3 ? 503 : 200).end('{}');
  });
  const load = await send({ url: refuses, requests: events(0, 10) });
  expect(load).toMatchObject({ answered: 9, failures: { 503: 1 } });

  const users = [{ cookie: 'session=a', proof: '"ada@example.com"' }];
  const says = await listen((_request, response) => response.end('{"email":"eve@example.com"}'));
  const requests = { kind: 'profiles', path: '/user', users } as const;
  const wrong = await send({ url: says, seconds: 0.1, requests });
  expect(wrong.answered).toBe(0);
  expect(Object.keys(wrong.failures)).toEqual(['wrong']);

  const ends = await listen((request) => request.socket.destroy());
  expect(await send({ url: ends, requests: events(0, 5) })).toMatchObject({
    answered: 0,
    failures: { ended: 5 },
  });
});
