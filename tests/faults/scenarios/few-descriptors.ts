import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { PostgresCluster } from '../../support/postgres/postgres-cluster.ts';
import { connect } from '../../support/postgres/test-database.ts';
import { createFlood } from '../flood/flood.ts';
import { canLimit, startLimitedServer } from '../limited-server.ts';
import { expectServed, shareServed, startRegularTraffic } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

/** Node opens the files of all modules at once, so it does not start with fewer. */
const DESCRIPTORS = 256;
const CONNECTIONS = 600;
const FLOOD_MS = 500;
const CALM_MS = 300;
/** One line per second about the flood, and the lines of product name lookups and maintenance. */
const MAX_LINES_A_FLOOD = 30;

/** The texts that the connections of a flood send before they go silent; one kind per flood. */
const KINDS: readonly (readonly string[])[] = [
  [''],
  ['GET /api/user HTTP/1.1\r\nHost: x\r\nX-Slow: '],
  ['POST /api/stripe/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{'],
  ['GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'],
];
const EVERY_KIND = KINDS.flat();

const CUT_OFF = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = 'instep' and pid <> pg_backend_pid()`;

/** A period; its end can be in the future. */
type Phase = { readonly fromMs: number; untilMs: number };

export const fewDescriptors: Scenario = {
  fault:
    `repeated bursts of ${CONNECTIONS} connections to a server that can open only ` +
    `${DESCRIPTORS} files; every fifth burst also breaks its database connections`,
  promise:
    '99% of other requests are served during a burst (unless it breaks the database ' +
    'connections) and 99.9% afterward; the server can always reconnect to its database, nothing ' +
    'acknowledged is lost, and the log stays small',
  times: { short: 5, long: 300 },
  isPossible: canLimit,
  async run({ times, onProgress }) {
    const cluster = await PostgresCluster.create();
    const server = await startLimitedServer(cluster, DESCRIPTORS);
    const database = connect(cluster.url);
    const flood = createFlood(server.url);
    const regular = await startRegularTraffic(database, server.url);
    const floods: Phase[] = [];
    const cuts: Phase[] = [];
    for (let done = 1; done <= times; done += 1) {
      await sleep(CALM_MS);
      const phase = { fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
      const texts = KINDS[done % (KINDS.length + 1)];
      (texts === undefined ? cuts : floods).push(phase);
      await flood.open({ count: CONNECTIONS, texts: texts ?? EVERY_KIND });
      if (texts === undefined) {
        await cluster.ask(CUT_OFF);
        await regular.untilMore(1);
      }
      await sleep(FLOOD_MS);
      await flood.close();
      phase.untilMs = Date.now();
      onProgress?.(done);
    }
    await sleep(CALM_MS);
    await regular.finish();
    const { ended } = await flood.state();
    await flood.end();
    const figures = await regular.audit();
    expect(await server.instep.stop('SIGTERM')).toBe(0);
    await database.close();
    await cluster.remove();

    const { stdout, stderr } = server.instep;
    const lines = [stdout, stderr]
      .flatMap((text) => text.split('\n'))
      .filter((line) => !line.includes('"msg":"event"'));
    expect(lines.filter((line) => /EMFILE|unexpected error/.test(line))).toEqual([]);
    expect(lines.length).toBeLessThan(MAX_LINES_A_FLOOD * times);
    const isIn = (phases: readonly Phase[], startedAtMs: number) =>
      phases.some(({ fromMs, untilMs }) => startedAtMs >= fromMs && startedAtMs <= untilMs);
    const during = regular.attempts.filter(({ startedAtMs }) => isIn(floods, startedAtMs));
    const after = regular.attempts.filter(
      ({ startedAtMs }) => !isIn([...floods, ...cuts], startedAtMs),
    );
    expectServed(during, 99);
    expectServed(after, 99.9);
    return {
      floods: times,
      'connections ended': ended,
      'other requests during floods': during.length,
      '% of these served': shareServed(during),
      '% served after a flood': shareServed(after),
      ...figures,
    };
  },
};
