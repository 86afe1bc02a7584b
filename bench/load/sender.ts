// A process of its own that sends the load. Told by load-process.ts.
import type { Job } from './job.ts';
import { type NextRequest, prepareRequests } from './outgoing.ts';
import { runJob } from './run-job.ts';

export type Told = { readonly prepare: Job } | { readonly go: true };

/** Whoever told us may be gone meanwhile: then nobody hears, and we end. */
const say = (what: object) =>
  process.send?.(what, (error: Error | null) => error && process.exit());

let prepared: { readonly job: Job; readonly nextRequest: NextRequest } | null = null;

process.on('message', async (told: Told) => {
  if ('prepare' in told) {
    prepared = { job: told.prepare, nextRequest: prepareRequests(told.prepare) };
    say({ prepared: true });
  } else if (prepared !== null) {
    const load = await runJob(prepared.job, prepared.nextRequest);
    prepared = null;
    say({ load });
  }
});
process.on('disconnect', () => process.exit());
