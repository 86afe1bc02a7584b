import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { SETTINGS, spawnInstep } from '../support/process/instep-process.ts';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const TWO = { INSTEP_WORKERS: '2' };

describe('two workers', () => {
  const service = useService(TWO);
  const pidOf = async (worker: number) =>
    Number((await service.process.logged({ worker, msg: 'worker listening' })).pid);
  const isUp = () =>
    fetch(`${service.url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );

  test('share one address and both serve it', async () => {
    const { teamId, customerId } = await service.addTeam();
    const workers = new Set<unknown>();
    for (let count = 1; workers.size < 2; count += 1) {
      const eventId = `evt_workers_${count}`;
      const body = eventBody({ eventId, customerId, createdSeconds: count });
      expect((await service.postSigned(body)).status).toBe(200);
      workers.add((await service.process.logged({ eventId, outcome: 'applied' })).worker);
    }
    expect(await service.planOf(teamId)).toMatchObject({ subscriptionStatus: 'active' });
  });

  test('replace one that is killed while the other one serves', async () => {
    process.kill(await pidOf(1), 'SIGKILL');
    await service.process.logged({ worker: 1, msg: 'worker ended and is replaced' });
    expect(await isUp()).toBe(true);
    await service.process.logged({ worker: 3, msg: 'worker listening' });
  });

  test('ignore signals that a terminal sends to them', async () => {
    const pid = await pidOf(2);
    for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.kill(pid, signal);
      await sleep(50);
    }
    expect(() => process.kill(pid, 0)).not.toThrow();
  });

  test('stop cleanly on SIGTERM', async () => {
    const { customerId } = await service.addTeam();
    const last = service.postSigned(eventBody({ customerId }));
    await service.process.logged({ outcome: 'applied', customerId });
    expect(await service.process.stop()).toBe(0);
    expect((await last).status).toBe(200);
    await service.process.logged({ msg: 'stopped' });
    expect(await isUp()).toBe(false);
  });
});

describe('two workers whose supervisor is killed', () => {
  const service = useService(TWO);

  test('end as well', async () => {
    const { pid } = await service.process.logged({ worker: 1, msg: 'worker listening' });
    await service.process.stop('SIGKILL');
    await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow(), 10_000);
  });
});

test("workers that can't start exit with 1 and the reason", async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as AddressInfo;
  const instep = spawnInstep(['serve'], { ...SETTINGS, ...TWO, PORT: String(port) });
  expect(await instep.exited).toBe(1);
  expect(instep.stderr).toContain(`listening on 127.0.0.1:${port} is taken`);
  taken.close();
});
