import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

/** Workers 1 and 2 are the first ones. */
const REPLACED = /"worker":3,.*"worker listening"/;
const TWO = { INSTEP_WORKERS: '2' };

describe('two workers', () => {
  const service = useService(TWO);
  const pidOf = async (worker: number) =>
    Number((await service.process.logged({ worker, msg: 'worker listening' })).pid);
  /** On a new connection each time, because a connection stays with its worker. */
  const isUp = () =>
    fetch(`${service.url}/readyz`, { headers: { connection: 'close' } }).then(
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
    const isReplaced = () => service.process.lines.some((line) => REPLACED.test(line));
    do expect(await isUp()).toBe(true);
    while (!isReplaced());
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
