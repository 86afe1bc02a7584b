import { createHmac } from 'node:crypto';
import { mapConcurrently } from '../../../simulation/map-concurrently.ts';
import { createRandom, type Random } from '../../../simulation/random.ts';
import { addTeam } from '../../support/internals/rows.ts';
import { openConnection, statusesIn } from '../../support/network/raw-connection.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { type InstepProcess, startInstep } from '../../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../../support/secrets/test-secrets.ts';
import { makeOddEvent } from '../hostile/odd-events.ts';
import { makeRawRequest } from '../hostile/raw-requests.ts';
import type { Scenario } from '../scenario.ts';

const CONNECTIONS = 16;
/** The number of cases per server, because all its log lines are kept. */
const BATCH = 10_000;
const DEADLINE_MS = 20_000;

type Kind = 'malformed' | 'unusual';
const KINDS: readonly Kind[] = ['malformed', 'unusual'];

/** The statuses that a case can have. Malformed requests can also reach any existing route. */
const ALLOWED: Readonly<Record<Kind, readonly number[]>> = {
  malformed: [100, 200, 400, 404, 405, 408, 413, 414, 417, 431],
  unusual: [200, 400, 413],
};

export const hostile: Scenario = {
  fault: 'random malformed HTTP, and signed but unusual events',
  promise: 'no response is late or a 5xx, and the server survives',
  times: { quick: 1_000, short: 10_000, long: 1_000_000 },
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    await addTeam(database.query, { name: 'Odd', customerId: 'cus_odd' });
    const statuses: Record<string, number> = {};

    async function attack(server: InstepProcess, number: number): Promise<void> {
      const random = createRandom(number);
      const kind = KINDS[number % KINDS.length] ?? 'unusual';
      const bytes = makeCase(kind, random);
      const received = await exchangeInTime(server.url, kind, bytes).catch((error: Error) => {
        throw new Error(`case ${number} (${kind}): ${error.message}\n${show(bytes)}`);
      });
      for (const status of statusesIn(received)) {
        const name = `${kind} requests answered with ${status}`;
        statuses[name] = (statuses[name] ?? 0) + 1;
        if (!ALLOWED[kind].includes(status)) {
          throw new Error(`case ${number} (${kind}) was answered ${received}\n${show(bytes)}`);
        }
      }
    }

    for (let done = 0; done < times; done += BATCH) {
      const numbers = Array.from({ length: Math.min(BATCH, times - done) }, (_, n) => done + n);
      const server = await startInstep({ DATABASE_URL: url.href });
      await mapConcurrently(numbers, CONNECTIONS, (number) => attack(server, number));
      await checkAlive(server);
      onProgress?.(done + numbers.length);
    }
    await database.close();
    return { cases: times, ...statuses };
  },
};

async function checkAlive(server: InstepProcess): Promise<void> {
  const ready = await fetch(`${server.url}/readyz`);
  const failed = server.lines.filter((line) => /request failed|not ready/.test(line));
  if (ready.status !== 200 || failed.length > 0) throw new Error(`failed: ${failed[0]}`);
  if ((await server.stop()) !== 0)
    throw new Error(`the server did not survive: ${server.lines.at(-1)}`);
}

function makeCase(kind: Kind, random: Random): Buffer {
  if (kind === 'malformed') return makeRawRequest(random);
  const body = makeOddEvent(random, random.pick(['cus_odd', 'cus_of_nobody']));
  const lines = [
    ...['POST /api/stripe/webhook HTTP/1.1', 'Host: x', 'Connection: close'],
    ...[`Stripe-Signature: ${sign(body)}`, `Content-Length: ${body.length}`],
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

/** Signs bytes that are not text, as Stripe does. */
function sign(body: Uint8Array): string {
  const seconds = Math.floor(Date.now() / 1_000);
  const hash = createHmac('sha256', WEBHOOK_SECRET).update(`${seconds}.`).update(body);
  return `t=${seconds},v1=${hash.digest('hex')}`;
}

async function exchangeInTime(url: string, kind: Kind, bytes: Uint8Array): Promise<string> {
  const connection = openConnection(url);
  const late = setTimeout(() => connection.destroy(), DEADLINE_MS);
  connection.write(bytes);
  // The end of a malformed request is undefined, so its sending side is closed. A request that ends early
  // gets no answer.
  if (kind === 'malformed') connection.halfClose();
  const startedAtMs = Date.now();
  const received = await connection.closed();
  clearTimeout(late);
  if (Date.now() - startedAtMs >= DEADLINE_MS) throw new Error('the deadline passed');
  return received;
}

function show(bytes: Uint8Array): string {
  return JSON.stringify(Buffer.from(bytes).toString('latin1').slice(0, 3_000));
}
