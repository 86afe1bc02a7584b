import { createLogger } from 'instep';
import { createJobs } from '../internals/repair.ts';
import type { StripeApi } from '../internals/stripe.ts';
import { openWholePipeline } from './pipelines.ts';

const refuse = () => Promise.reject(new Error('the job asks Stripe, or stores an event'));

export const REFUSING_API: StripeApi = {
  retrieveProductName: refuse,
  retrieveSubscription: refuse,
  retrieveCheckoutSession: refuse,
  listEvents: refuse,
  listSubscriptions: refuse,
  retrieveCustomer: refuse,
};

type Services = Parameters<typeof createJobs>[0];
type Settings = Parameters<typeof createJobs>[1];

/** Jobs that neither ask Stripe nor store events. Those with a setting run only if it is given. */
export function createJobsWithoutStripe(
  services: Pick<Services, 'database'> & Partial<Services>,
  settings: Partial<Settings> = {},
) {
  return createJobs(
    {
      ingest: refuse,
      settle: openWholePipeline(services.database).settle,
      api: REFUSING_API,
      nameOf: refuse,
      planSelection: 'newest',
      logger: createLogger('silent'),
      now: Date.now,
      nonce: () => 'holder',
      ...services,
    },
    {
      catchUpIntervalMs: null,
      reconcileIntervalMs: null,
      eventRetentionMs: null,
      ...settings,
    },
  );
}
