import type { Answer } from './connection.ts';
import type { Job } from './job.ts';
import { createSigner } from './signed-requests.ts';

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
  const { first, count, isSignedLate } = requests;
  const sign = createSigner({ host, ...requests });
  const isRight = () => true;
  const signed = isSignedLate
    ? []
    : Array.from({ length: count }, (_, index) => sign(first + index));
  let next = 0;
  return () => {
    if (next >= count) return null;
    const index = next;
    next += 1;
    return { bytes: signed[index] ?? sign(first + index), isRight };
  };
}

function repeat(all: readonly Outgoing[]): NextRequest {
  let next = 0;
  return () => {
    const one = all[next % all.length];
    next += 1;
    return one ?? null;
  };
}
