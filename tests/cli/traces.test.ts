import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { useService } from '../support/service/contract-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const file = fileURLToPath(new URL('../support/tracing/print-spans.js', import.meta.url));
const service = useService({ NODE_OPTIONS: `--import=${file}` });

test('an SDK that is imported first gets all spans, including the last ones', async () => {
  const { customerId } = await service.addTeam();
  expect((await service.postSigned(eventBody({ customerId }))).status).toBe(200);
  const { traceId, spanId } = await service.process.logged({ msg: 'event' });
  expect(await service.process.stop()).toBe(0);
  const span = 'POST /api/stripe/webhook';
  expect(await service.process.logged({ span })).toMatchObject({ traceId, spanId });
});
