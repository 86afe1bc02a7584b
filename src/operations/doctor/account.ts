import { DeadlineExceeded } from '../../runtime/deadline.ts';
import type { StripePage } from '../../stripe/api.ts';
import { StripeApiFailed } from '../../stripe/api-call.ts';
import { type InspectResource, RESOURCES, type Resource } from '../../stripe/resource-access.ts';
import type { ClockReading } from './clock.ts';

/** What Stripe's API said to one call. */
export type Answer =
  | { readonly kind: 'granted'; readonly page: StripePage; readonly clock: ClockReading | null }
  /** The key is unknown (401), or may not do this (403). */
  | { readonly kind: 'refused'; readonly status: 401 | 403 }
  /** Nothing was answered, or nothing that tells of the key. */
  | { readonly kind: 'failed'; readonly reason: string };

export type Account = ReadonlyMap<Resource, Answer>;

/**
 * Asks Stripe's API for each kind of what is ever asked of it, once. Where the first call fails
 * there is nothing to be heard from the others.
 */
export async function askAccount(inspect: InspectResource, now: () => number): Promise<Account> {
  const [first, ...others] = RESOURCES;
  const answer = await ask(inspect, first, now);
  if (answer.kind === 'failed') return new Map([[first, answer]]);
  const answers = others.map(
    async (resource) => [resource, await ask(inspect, resource, now)] as const,
  );
  return new Map([[first, answer], ...(await Promise.all(answers))]);
}

async function ask(
  inspect: InspectResource,
  resource: Resource,
  now: () => number,
): Promise<Answer> {
  const beganMs = now();
  try {
    const page = await inspect(resource);
    const { answeredSeconds } = page;
    const endedMs = now();
    const clock =
      answeredSeconds === null ? null : { beganMs, endedMs, answeredMs: answeredSeconds * 1_000 };
    return { kind: 'granted', page, clock };
  } catch (error) {
    if (error instanceof DeadlineExceeded) return { kind: 'failed', reason: error.message };
    if (!(error instanceof StripeApiFailed)) throw error;
    const { status, message } = error;
    if (status === 401 || status === 403) return { kind: 'refused', status };
    return { kind: 'failed', reason: message };
  }
}
