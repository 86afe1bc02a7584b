import { describe, expect, test } from 'vitest';
import { openConnection, statusesIn } from '../support/network/raw-connection.ts';
import { lockTeam, untilWaiting, whileHeld } from '../support/postgres/locks.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const PATIENT = { REQUEST_DEADLINE_MS: '20000', LOG_LEVEL: 'debug' };
const BLOCKED = { msg: 'waiting to be tried again' };

describe('SIGTERM during requests', () => {
  const service = useService(PATIENT);

  test('answers them, reports not ready, and exits with 0', async () => {
    const { id } = await service.addUser();
    const cookie = await service.cookieOf(id);
    const { teamId, customerId } = await service.addTeam();
    const kept = openConnection(service.url);
    const probing = openConnection(service.url);
    for (const connection of [kept, probing]) {
      connection.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      await connection.receives(/ok/);
    }

    let webhook: Promise<Response> | undefined;
    let exit: Promise<number | null> | undefined;
    const lock = `lock table users in access exclusive mode; ${lockTeam(teamId)}`;
    await whileHeld(service.database, lock, async () => {
      webhook = service.postSigned(eventBody({ customerId }));
      kept.write(`GET /api/user HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`);
      await service.process.logged(BLOCKED);
      await untilWaiting(service.database);
      // Otherwise it would be idle, and closed.
      probing.write('GET /readyz HTTP/1.1\r\n');
      // The server has got it when it has answered a later request.
      await fetch(`${service.url}/healthz`);

      exit = service.process.stop();
      await service.process.logged({ msg: 'shutting down' });
      probing.write('Host: x\r\n\r\n');
      await service.process.logged({ msg: 'not ready' });
      await expect(fetch(`${service.url}/healthz`)).rejects.toThrow();
    });

    expect((await webhook)?.status).toBe(200);
    expect(statusesIn(await kept.closed())).toEqual([200, 200]);
    expect(statusesIn(await probing.closed())).toEqual([200, 503]);
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
    expect(await exit).toBe(0);
  });
});

describe('SIGINT', () => {
  // Longer than the timeout of any test.
  const service = useService({ SHUTDOWN_DEADLINE_MS: '600000' });

  test('ends a server with silent and idle connections', async () => {
    const silent = openConnection(service.url);
    const incomplete = openConnection(service.url);
    incomplete.write('GET /healthz HTTP/1.1\r\nHost');
    const kept = openConnection(service.url);
    kept.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await kept.receives(/ok/);

    expect(await service.process.stop('SIGINT')).toBe(0);
    for (const connection of [silent, incomplete, kept]) await connection.closed();
    const messages = service.process.lines.map((line) => JSON.parse(line).msg);
    expect(messages.slice(-2)).toEqual(['shutting down', 'stopped']);
  });
});

describe('a request that takes longer than the shutdown', () => {
  const service = useService({ ...PATIENT, SHUTDOWN_DEADLINE_MS: '200' });

  test('is cut off at the deadline', async () => {
    const { teamId, customerId } = await service.addTeam();
    await whileHeld(service.database, lockTeam(teamId), async () => {
      const webhook = service.postSigned(eventBody({ customerId }));
      await service.process.logged(BLOCKED);
      const exit = service.process.stop();
      await expect(webhook).rejects.toThrow();
      expect(await exit).toBe(0);
    });
  });
});

describe('a second signal', () => {
  const service = useService(PATIENT);

  test('ends the server at once with exit code 1', async () => {
    const { teamId, customerId } = await service.addTeam();
    await whileHeld(service.database, lockTeam(teamId), async () => {
      const webhook = service.postSigned(eventBody({ customerId }));
      await service.process.logged(BLOCKED);
      const exit = service.process.stop();
      await service.process.logged({ msg: 'shutting down' });
      service.process.process.kill('SIGTERM');
      await expect(webhook).rejects.toThrow();
      expect(await exit).toBe(1);
    });
  });
});
