import type { Answer } from './connection.ts';
import type { EventMix, Job } from './job.ts';
import { renewals } from './renewals.ts';
import { createSigner } from './signed-requests.ts';
import { contentOf, type EventContent } from './subscription-event.ts';

/** A request, and the check of its response. */
export type Outgoing = { readonly bytes: Buffer; readonly isRight: (answer: Answer) => boolean };

/** Returns the next request; `null` at the end. */
export type NextRequest = () => Outgoing | null;

/** Prepares the requests of a job before the first one is sent. */
export function prepareRequests({ url, requests }: Job): NextRequest {
  const { host } = new URL(url);
  if (requests.kind === 'profiles') {
    const { path, users } = requests;
    return repeat(
      users.map(({ cookie, proof }) => ({
        bytes: Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`),
        isRight: ({ body }) => body.includes(proof),
      })),
    );
  }
  const { mix, first, teams, count, isSignedLate } = requests;
  const sign = createSigner({ host, ...requests });
  const nextContent = contentsFrom(mix, first, teams);
  const signNext = () => sign(nextContent());
  const isRight = () => true;
  const signed = isSignedLate ? [] : Array.from({ length: count }, signNext);
  let next = 0;
  return () => {
    if (next >= count) return null;
    const index = next;
    next += 1;
    return { bytes: signed[index] ?? signNext(), isRight };
  };
}

function contentsFrom(mix: EventMix, first: number, teams: number): () => EventContent {
  if (mix === 'changes') {
    let number = first;
    return () => contentOf(number++, teams);
  }
  const all = renewals(teams);
  for (let skipped = 0; skipped < first; skipped += 1) all.next();
  return () => all.next().value;
}

function repeat(all: readonly Outgoing[]): NextRequest {
  let next = 0;
  return () => {
    const one = all[next % all.length];
    next += 1;
    return one ?? null;
  };
}
