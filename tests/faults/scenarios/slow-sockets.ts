import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { startLoad } from '../load.ts';
import type { Scenario } from '../scenario.ts';

const BYTE_INTERVAL_MS = 1_000;
/** Longer than the server's timeouts for headers and bodies. */
const DURATION_MS = 12_000;

/** Requests that are sent byte by byte; the last one goes silent after its answer. */
const BEGINNINGS = [
  'GET /api/user HTTP/1.1\r\nHost: x\r\nX-Slow: ',
  'POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n',
  'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
];
const IDLE = BEGINNINGS.length - 1;

export const slowSockets: Scenario = {
  fault:
    'the given number of connections send one byte per second, or nothing after their first ' +
    'response',
  promise:
    'other clients are served as usual; connections that send one byte per second are closed',
  times: { short: 300, long: 5_000 },
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const sockets = Array.from({ length: times }, (_, index) => open(server.url, index));
    const drip = setInterval(() => {
      for (const { socket, index } of sockets) if (index !== IDLE) socket.write('a');
    }, BYTE_INTERVAL_MS);
    let profiles = 0;
    let refusedProfiles = 0;
    const refusals: (number | string)[] = [];
    const load = await startLoad(database, {
      url: () => server.url,
      senders: 2,
      onRefused: (reason) => refusals.push(reason),
    });
    const startedAtMs = Date.now();
    while (Date.now() < startedAtMs + DURATION_MS) {
      const answer = await fetch(`${server.url}/api/user`).catch(() => null);
      profiles += 1;
      if (answer?.status !== 200) refusedProfiles += 1;
      await sleep(20);
      onProgress?.(Math.round((times * (Date.now() - startedAtMs)) / DURATION_MS));
    }
    clearInterval(drip);
    await load.finish();
    const left = sockets.filter(({ socket, index }) => index !== IDLE && !socket.closed).length;
    for (const { socket } of sockets) socket.destroy();
    const figures = await load.audit(database);
    if (left > 0) throw new Error(`${left} slow connections are still open`);
    if (refusedProfiles > profiles / 1_000 || refusals.length > figures.acknowledged / 1_000) {
      throw new Error(
        `requests of others were refused: ${refusedProfiles} profiles, ${refusals.join()}`,
      );
    }
    await server.stop();
    await database.close();
    return { 'slow connections': times, profiles, 'profiles refused': refusedProfiles, ...figures };
  },
};

function open(url: string, number: number): { readonly socket: Socket; readonly index: number } {
  const { hostname, port } = new URL(url);
  const index = number % BEGINNINGS.length;
  const socket = connect(Number(port), hostname);
  // The server is expected to close it.
  socket.on('error', () => socket.destroy());
  socket.resume().write(BEGINNINGS[index] ?? '');
  return { socket, index };
}
