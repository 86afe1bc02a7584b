import type { Query } from '../internals/database.ts';
import type { StripeApi } from '../internals/stripe.ts';
import { createJobsWithoutStripe, REFUSING_API } from './jobs-without-stripe.ts';

type Services = Parameters<typeof createJobsWithoutStripe>[0];

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The jobs that ask Stripe, one after the other, of one of several instances. One that fails stops no other. */
export function openAskingJob({
  api = {},
  ...services
}: Omit<Services, 'api'> & { readonly api?: Partial<StripeApi> }) {
  const { query } = services.database;
  const jobs = createJobsWithoutStripe(
    {
      ...services,
      api: { ...REFUSING_API, ...api },
      clockMs: () => performance.now() + passedMs,
    },
    { reconcileIntervalMs: DAY_MS },
  );
  return async (signal = new AbortController().signal): Promise<void> => {
    await query(
      'update instep.leased_jobs set started_at = null, attempt_at = null where name = any ($1)',
      [ASKING],
    );
    const failures: unknown[] = [];
    for (const { name, run } of jobs) {
      if (ASKING.includes(name)) await run(signal).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  };
}

/** The jobs that ask Stripe. */
const ASKING = [
  'ambiguous-order',
  'unconfirmed-ends',
  'product-names',
  'new-customers',
  'first-subscriptions',
];

/** For the jobs of all tests of a file. */
let passedMs = 0;

/** Makes every question appear to have been asked this much earlier. */
export async function passTime(query: Query, interval: string): Promise<void> {
  const [row] = await query<{ ms: number }>(
    'select (extract(epoch from $1::interval) * 1000)::bigint as ms',
    [interval],
  );
  passedMs += row?.ms ?? 0;
  await query(
    `update instep.asked_customers
        set first_asked_at = first_asked_at - $1::interval,
            asked_at = asked_at - $1::interval,
            again_at = again_at - $1::interval`,
    [interval],
  );
}
