// A process of its own that sends the load. Told by load-process.ts.
import type { Job } from './job.ts';
import { type NextRequest, prepareRequests } from './outgoing.ts';
import { runJob } from './run-job.ts';

export type Told = { readonly prepare: Job } | { readonly go: true };

let prepared: { readonly job: Job; readonly nextRequest: NextRequest } | null = null;

process.on('message', async (told: Told) => {
  if ('prepare' in told) {
    prepared = { job: told.prepare, nextRequest: prepareRequests(told.prepare) };
    process.send?.({ prepared: true });
  } else if (prepared !== null) {
    const load = await runJob(prepared.job, prepared.nextRequest);
    prepared = null;
    process.send?.({ load });
  }
});
process.on('disconnect', () => process.exit());
