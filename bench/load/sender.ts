// A separate process that sends the load, controlled by load-process.ts.
import type { Job } from './job.ts';
import { type NextRequest, prepareRequests } from './outgoing.ts';
import { runJob } from './run-job.ts';

type Message = { readonly prepare: Job } | { readonly go: true };

/** Ends this process if the parent has ended. */
const send = (message: object) =>
  process.send?.(message, (error: Error | null) => error && process.exit());

let prepared: { readonly job: Job; readonly nextRequest: NextRequest } | null = null;

process.on('message', async (message: Message) => {
  if ('prepare' in message) {
    prepared = { job: message.prepare, nextRequest: prepareRequests(message.prepare) };
    send({ prepared: true });
  } else if (prepared !== null) {
    const load = await runJob(prepared.job, prepared.nextRequest);
    prepared = null;
    send({ load });
  }
});
process.on('disconnect', () => process.exit());
