import { beforeAll, describe, expect, test, vi } from 'vitest';
import { useService } from '../../support/service/contract-service.ts';
import { valuesIn } from '../../support/service/metrics-service.ts';
import { eventBody } from '../../support/stripe/events.ts';

const OPERATIONS = { OPS_PORT: '0' };

const EVENTS = 'instep_events_total';
const APPLIED = 'type="customer.subscription.updated",outcome="applied",source="delivery"';

/** The metrics of the operators' listener. */
function useOperations(service: ReturnType<typeof useService>) {
  let url: string;
  beforeAll(async () => {
    url = String((await service.process.logged({ msg: 'operations listening' })).url);
  });
  return {
    async values() {
      const response = await fetch(`${url}/metrics`);
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      return valuesIn(await response.text());
    },
  };
}

describe('one process', () => {
  const service = useService(OPERATIONS);
  const operations = useOperations(service);

  test('shows its metrics to operators', async () => {
    const { customerId } = await service.addTeam();
    await service.postSigned(eventBody({ customerId }));
    const values = await operations.values();
    expect(values.get(`${EVENTS}{${APPLIED}}`)).toBe(1);
    expect(values.get('instep_database_up')).toBe(1);
    expect(values.get('process_start_time_seconds')).toBeLessThan(Date.now() / 1_000);
  });

  test('does not show them to the public', async () => {
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
  });
});

describe('two workers', () => {
  const service = useService({ ...OPERATIONS, INSTEP_WORKERS: '2' });
  const operations = useOperations(service);
  const pidOf = async (worker: number) =>
    Number((await service.process.logged({ worker, msg: 'worker listening' })).pid);

  const applied = async () => {
    const values = await operations.values();
    return [1, 2, 3].map((worker) => values.get(`${EVENTS}{${APPLIED},worker="${worker}"}`));
  };

  test('one response has the metrics of each worker', async () => {
    const { customerId } = await service.addTeam();
    const count: Record<number, number> = { 1: 0, 2: 0 };
    for (let nth = 1; count[1] === 0 || count[2] === 0; nth += 1) {
      const eventId = `evt_metrics_${nth}`;
      await service.postSigned(eventBody({ eventId, customerId, createdSeconds: nth }));
      const { worker } = await service.process.logged({ eventId, outcome: 'applied' });
      count[Number(worker)] = (count[Number(worker)] ?? 0) + 1;
    }
    expect(await applied()).toEqual([count[1], count[2], undefined]);
  });

  test('concurrent requests get the same metrics', async () => {
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, applied));
    for (const other of others) expect(other).toEqual(first);
  });

  test('leaves out a worker that does not answer, and includes its replacement', async () => {
    const pid = await pidOf(1);
    process.kill(pid, 'SIGSTOP');
    const [stopped, other] = await applied();
    expect(stopped).toBeUndefined();
    expect(other).toBeGreaterThan(0);
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(async () => expect((await applied())[2]).toBe(0), 20_000);
  });
});
