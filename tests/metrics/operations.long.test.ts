import { beforeAll, describe, expect, test } from 'vitest';
import { useService } from '../support/service/contract-service.ts';
import { valuesIn } from '../support/service/metrics-service.ts';
import { eventBody } from '../support/stripe/events.ts';

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
