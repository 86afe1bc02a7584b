import { expect } from 'vitest';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { startInstep } from '../../support/process/instep-process.ts';
import { floodWithRequests, sum } from '../flood/requests.ts';
import { addSignedIn, expectServed, slowestMs } from '../regular-traffic.ts';
import type { Scenario } from '../scenario.ts';

const CONNECTIONS = 64;

export const oneUserFlood: Scenario = {
  fault:
    `one user requests their profile over ${CONNECTIONS} connections as fast as possible, for ` +
    'the given number of seconds',
  promise: 'other users and events are still served',
  times: { short: 3, long: 60 },
  async run({ times: seconds, onProgress }) {
    const { url, database } = await createDatabase();
    const server = await startInstep({ DATABASE_URL: url.href });
    const { cookie } = await addSignedIn(database);
    const { answered, attempts, figures } = await floodWithRequests({
      url: server.url,
      database,
      texts: [`GET /api/user HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`],
      connections: CONNECTIONS,
      seconds,
      onProgress,
    });
    await server.stop();
    await database.close();
    expect(Object.keys(answered)).toEqual(['200']);
    expectServed(attempts, 100);
    return {
      seconds,
      'profiles of one user': sum(answered),
      'other requests': attempts.length,
      'other requests refused': 0,
      'ms p99': slowestMs(attempts),
      ...figures,
    };
  },
};
