import type { ApplicationId } from 'instep';
import type { SubscriptionEventFields } from 'instep/testing';
import type { Database } from '../../support/internals/database.ts';
import { addTeam } from '../../support/internals/rows.ts';
import { openPipeline } from '../../support/service/pipelines.ts';
import { eventBody, received } from '../../support/stripe/events.ts';
import { HOSTILE } from '../../support/stripe/hostile-texts.ts';
import { NOW_MS } from './scenery.ts';

const HOUR_SECONDS = 3_600;

/** The teams of `addProblems`. */
export type Problems = {
  /** Has two subscriptions that grant a plan. */
  readonly twoSubscriptions: ApplicationId;
  readonly withoutCustomer: ApplicationId;
  readonly unknownCustomer: ApplicationId;
  /** Stripe knows its subscription, but no event of it has arrived. */
  readonly hostile: ApplicationId;
  /** Has more events than a page shows. */
  readonly busy: ApplicationId;
};

/** Adds teams and events with everything that a page must have room for. */
export async function addProblems(database: Database): Promise<Problems> {
  const { query } = database;
  const ingest = openPipeline(database);
  const happen = async (hoursAgo: number, made: Partial<SubscriptionEventFields>) => {
    const createdSeconds = Math.floor(NOW_MS / 1_000 - hoursAgo * HOUR_SECONDS);
    const body = eventBody({ productId: 'prod_pro', ...made, createdSeconds });
    await ingest([received(body, createdSeconds * 1_000 + 700)]);
  };

  const two = 'cus_Q4kVx8Jb2mZ0tW';
  const twoSubscriptions = await addTeam(query, { name: 'Two Rivers Trading', customerId: two });
  const [first, second] = ['sub_1QxKf2LkdIwHu7ix', 'sub_1R0aPbLkdIwHu7ixHh3RzYtC'];
  await happen(70, { customerId: two, subscriptionId: first, status: 'trialing' });
  await happen(50, { customerId: two, subscriptionId: first });
  await happen(28, { customerId: two, subscriptionId: second, productId: 'prod_team' });
  await happen(20, { customerId: two, subscriptionId: first, status: 'past_due' });
  await happen(6, { customerId: two, subscriptionId: second, productId: 'prod_plus' });
  await happen(2, { customerId: two, subscriptionId: first, productId: 'prod_base' });

  const withoutCustomer = await addTeam(query, { name: 'Unlinked Textiles', customerId: null });
  const withoutEvents = await addTeam(query, { name: 'Silent Films', customerId: 'cus_silent' });
  const hostile = await addTeam(query, { name: HOSTILE.long, customerId: HOSTILE.entity });
  const unknownCustomer = await addTeam(query, {
    name: HOSTILE.rightToLeft,
    customerId: 'cus_rtl',
  });
  await query(
    `insert into instep.findings (customer_id, team_id, problem)
     values ('cus_rtl', $1, 'unknown customer')`,
    [unknownCustomer],
  );
  await happen(3, { customerId: HOSTILE.entity, subscriptionId: `sub_${HOSTILE.script}` });

  const busy = await addTeam(query, { name: 'Busy Bee Honey', customerId: 'cus_busy' });
  for (let event = 0; event < 70; event += 1) {
    const status = event % 3 === 0 ? 'canceled' : 'active';
    await happen(90 - event, { customerId: 'cus_busy', subscriptionId: 'sub_busy', status });
  }
  // Nothing shows which of the last two came last.
  await happen(21, { customerId: 'cus_busy', subscriptionId: 'sub_busy', status: 'unpaid' });

  await happen(5, { customerId: HOSTILE.image, eventId: HOSTILE.attribute });
  await happen(4, { customerId: 'cus_9f2Kd0aXqPq7Zs', subscriptionId: 'sub_parked' });
  const odd = { id: 'evt_odd', type: 'customer.subscription.updated', data: { object: 7 } };
  await ingest([received(JSON.stringify(odd), NOW_MS - HOUR_SECONDS * 1_000)]);
  // The picture's clock can be ahead of the database's.
  await query(`update instep.customers
                  set ambiguous_since = least(ambiguous_since, now() - interval '20 minutes')
                where ambiguous_since is not null`);
  const plan = { planName: 'Pro', providerProductId: 'prod_pro', subscriptionStatus: 'active' };
  await query(
    `insert into instep.findings (customer_id, team_id, problem, plan, should_be)
     select 'cus_silent', $1::text, 'plan refused', to_jsonb(row), $2::jsonb
       from (
              select provider_subscription_id as "providerSubscriptionId",
                     provider_product_id as "providerProductId",
                     plan_name as "planName",
                     subscription_status as "subscriptionStatus"
                from teams
               where id = $1
            ) as row`,
    [withoutEvents, { ...plan, providerSubscriptionId: 'sub_1Silent' }],
  );
  return { twoSubscriptions, withoutCustomer, unknownCustomer, hostile, busy };
}
