import { once } from 'node:events';
import { createOnDemandMaintenance } from 'instep/src/maintenance/worker.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { expect, test } from 'vitest';

test('a job that uses up the budget keeps no other from running', async () => {
  const ran: string[] = [];
  const slow = {
    name: 'slow',
    intervalMs: 0,
    async run(signal: AbortSignal) {
      ran.push('slow');
      await once(signal, 'abort');
    },
  };
  const quick = { name: 'quick', intervalMs: 0, run: async () => void ran.push('quick') };
  const maintenance = createOnDemandMaintenance(async () => [slow, quick], {
    logger: createLogger('silent'),
  });
  for (let count = 0; count < 2; count += 1) await maintenance.runDue(20);
  expect(ran).toEqual(['slow', 'quick', 'slow']);
});
