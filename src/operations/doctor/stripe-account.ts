import * as v from 'valibot';
import type { InspectResource } from '../../stripe/resource-access.ts';
import { readWebhookEndpoint } from '../../stripe/webhook-endpoint.ts';
import { checkAccess } from './access.ts';
import { type Account, askAccount } from './account.ts';
import { type Check, warning } from './check.ts';
import { checkClock } from './clock.ts';
import { checkWebhookEndpoints, type Expected } from './webhook-endpoints.ts';

export type StripeAccountOptions = {
  readonly inspect: InspectResource;
  readonly expected: Expected;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

export type StripeAccountChecks = {
  readonly checks: readonly Check[];
  /** When the newest event of the two types was made, in seconds since 1970; `null`: unknown. */
  readonly newestEventSeconds: number | null;
};

/** All that Stripe's API tells. It may be away: nothing else depends on it. */
export async function checkStripeAccount(
  options: StripeAccountOptions,
): Promise<StripeAccountChecks> {
  const account = await askAccount(options.inspect, options.now);
  return {
    checks: [
      ...checkAccess(account),
      checkClock(clockOf(account)),
      ...checkEndpointsOf(account, options.expected),
    ],
    newestEventSeconds: newestEventOf(account),
  };
}

function clockOf(account: Account) {
  for (const answer of account.values()) {
    if (answer.kind === 'granted' && answer.clock !== null) return answer.clock;
  }
  return null;
}

function checkEndpointsOf(account: Account, expected: Expected): Check[] {
  const answer = account.get('webhook endpoints');
  if (answer?.kind !== 'granted') return [];
  const { objects } = answer.page;
  const endpoints = objects.map(readWebhookEndpoint).filter((endpoint) => endpoint !== null);
  const odd = objects.length - endpoints.length;
  return [
    ...checkWebhookEndpoints(endpoints, expected),
    ...(odd === 0
      ? []
      : [warning('webhook endpoint', `${odd} of no known shape`, 'upgrade Instep')]),
  ];
}

function newestEventOf(account: Account): number | null {
  const answer = account.get('events');
  if (answer?.kind !== 'granted') return null;
  const [newest] = answer.page.objects;
  return v.is(createdShape, newest) ? newest.created : null;
}

const createdShape = v.object({ created: v.pipe(v.number(), v.integer()) });
