// Stripe's list of subscriptions: how it is read, of all customers or of one, and the table that keeps it while a
// reconciliation of all teams is in progress.

import type { ApplicationId } from '../../postgres/application.ts';
import type { Query } from '../../postgres/database.ts';
import { type Examined, examine, examineTeams } from '../../postgres/examine.ts';
import { columnArrays } from '../../postgres/named-statement.ts';
import {
  type LinkedTeam,
  type TeamRow,
  teamColumns,
  toTeam,
} from '../../postgres/statements/teams.ts';
import type { ApplicationTables } from '../../postgres/tables/application-tables.ts';
import type { Json } from '../../rule/json.ts';
import { ENDED_STATUSES } from '../../rule/status.ts';
import type { StripeApi } from '../../stripe/api.ts';
import { lastShownSecond } from '../../stripe/api-call.ts';
import { isRefusedByStripe } from '../../stripe/api-failure.ts';
import {
  type ListedSubscription,
  parseListedSubscription,
} from '../../stripe/subscription-snapshot.ts';
import { type ListPage, readPages } from '../stripe-calls.ts';
import type { ReconcileServices } from './progress.ts';

export async function deleteListed(query: Query): Promise<void> {
  await query({ name: 'delete_listed', text: 'truncate instep.listed_subscriptions' });
}

/** Stores listed subscriptions; a subscription that is listed again is replaced. Returns how many are new. */
export async function storeListed(
  query: Query,
  listed: readonly ListedSubscription[],
): Promise<number> {
  const rows = await query<{ isNew: boolean }>({
    name: 'store_listed',
    text: `
      insert into instep.listed_subscriptions
             (customer_id, subscription_id, status, details, as_of)
      select customer_id, subscription_id, status, object, to_timestamp(as_of_seconds)
        from unnest($1::text[], $2::text[], $3::text[], $4::json[], $5::bigint[])
          as listed (customer_id, subscription_id, status, object, as_of_seconds)
          on conflict (customer_id, subscription_id) do update
         set status  = excluded.status,
             details = excluded.details,
             as_of   = excluded.as_of
      returning xmax = 0 as "isNew"`,
    values: columnArrays(listed, 'customerId', 'subscriptionId', 'status', 'object', 'asOfSeconds'),
  });
  return rows.filter(({ isNew }) => isNew).length;
}

const STORE_LISTED_CUSTOMERS = ({ teams }: ApplicationTables) => `
      insert into instep.listed_subscriptions (customer_id, subscription_id)
      select customer.customer_id, ''
        from unnest($1::text[]) as customer (customer_id)
       where exists (
               select
                 from ${teams.rows} as teams
                where provider_customer_id = customer.customer_id
             )
         and not exists (
               select
                 from instep.listed_subscriptions as listed
                where listed.customer_id = customer.customer_id
             )
          on conflict do nothing
      returning customer_id`;

/**
 * Stores those of these customers who have a team but no listed subscription, because Stripe knows them.
 * Returns their number.
 */
export async function storeListedCustomers(
  query: Query,
  customerIds: readonly string[],
): Promise<number> {
  const rows = await query({
    name: 'store_listed_customers',
    text: STORE_LISTED_CUSTOMERS,
    values: [customerIds],
  });
  return rows.length;
}

export async function readListed(
  query: Query,
  customerIds: readonly string[],
): Promise<ListedSubscription[]> {
  const rows = await query<{ object: Json; asOfSeconds: number }>({
    name: 'read_listed',
    text: `
      select details as object,
             extract(epoch from as_of)::bigint as "asOfSeconds"
        from instep.listed_subscriptions
       where customer_id = any ($1::text[])
         and subscription_id <> ''`,
    values: [customerIds],
  });
  return rows.flatMap(
    ({ object, asOfSeconds }) => parseListedSubscription(object, asOfSeconds) ?? [],
  );
}

/** How many teams or listed subscriptions one statement examines. */
const EXAMINED = 1_000;

/** A team whose customer has no listed subscription. */
type UnlistedTeam = LinkedTeam & {
  /** Whether the customer itself was listed. */
  readonly isKnown: boolean;
};

/** Those of the next teams whose customer has no listed subscription. */
export async function readUnlistedTeams(
  query: Query,
  afterId: ApplicationId | null,
): Promise<Examined<UnlistedTeam>> {
  const { found, examinedTo } = await examineTeams<TeamRow<string> & { isKnown: boolean }>(query, {
    name: 'read_unlisted_teams',
    found: ({ teams }) => `found as (
        select ${teamColumns(teams)},
               exists (
                 select
                   from instep.listed_subscriptions
                  where customer_id = provider_customer_id
               ) as "isKnown"
          from examined
         where provider_customer_id is not null
           and not exists (
                 select
                   from instep.listed_subscriptions
                  where customer_id = provider_customer_id
                    and subscription_id <> ''
               )
      )`,
    afterId,
    limit: EXAMINED,
  });
  return {
    found: found.map(({ isKnown, ...row }) => ({ ...toTeam(row), isKnown })),
    examinedTo,
  };
}

/** A customer without a team, with the statuses of the subscriptions that have not ended. */
type TeamlessCustomer = {
  readonly customerId: string;
  readonly statuses: readonly string[];
};

/**
 * Those of the next listed customers that have no team, but a subscription that has not ended; and the last customer
 * that was examined.
 */
export async function readTeamlessCustomers(
  query: Query,
  after: string | null,
): Promise<Examined<TeamlessCustomer, string>> {
  return await examine(query, {
    name: 'read_teamless_customers',
    examined: () => `
        select customer_id, subscription_id, status
          from instep.listed_subscriptions
         where customer_id > $1
         order by customer_id
         fetch first ${EXAMINED} rows with ties`,
    key: 'customer_id',
    limit: EXAMINED,
    found: ({ teams }) => `found as (
        select customer_id as "customerId",
               array_agg(status order by subscription_id) as statuses
          from examined
         where subscription_id <> ''
           and status <> all ($2::text[])
           and not exists (
                 select
                   from ${teams.rows} as teams
                  where provider_customer_id = examined.customer_id
               )
         group by customer_id
         order by customer_id
      )`,
    values: [after ?? '', ENDED_STATUSES],
  });
}

type Listing = {
  readonly subscriptions: readonly ListedSubscription[];
  readonly unreadable: number;
  /** The next page begins after the subscription with this id; `null` after the last page. */
  readonly cursor: string | null;
};

type ListingOptions = {
  readonly listSubscriptions: StripeApi['listSubscriptions'];
  readonly customerId?: string;
  readonly cursor: string | null;
  readonly now: () => number;
  readonly signal: AbortSignal;
};

/** Reads Stripe's list of subscriptions page by page. @throws Stopped, DeadlineExceeded or StripeApiFailed */
export async function* readListings(options: ListingOptions): AsyncGenerator<Listing> {
  const { listSubscriptions, customerId, cursor, now, signal } = options;
  const list = (cursor: string | null, signal: AbortSignal) =>
    listSubscriptions({ customerId, cursor }, signal);
  for await (const page of readPages({ list, cursor, signal })) yield readListing(page, now());
}

function readListing(page: ListPage, nowMs: number): Listing {
  const { objects, cursor } = page;
  const asOfSeconds = lastShownSecond(page, nowMs);
  const subscriptions = new Map<string, ListedSubscription>();
  let unreadable = 0;
  for (const object of objects) {
    const subscription = parseListedSubscription(object, asOfSeconds);
    if (subscription === null) unreadable += 1;
    else subscriptions.set(subscription.subscriptionId, subscription);
  }
  return { subscriptions: [...subscriptions.values()], unreadable, cursor };
}

/** All subscriptions of a customer; `null` when Stripe does not know the customer, or refuses the id, such as an empty one. */
export async function listCustomer(
  customerId: string,
  { api: { listSubscriptions }, now }: Pick<ReconcileServices, 'api' | 'now'>,
  signal: AbortSignal,
): Promise<Pick<Listing, 'subscriptions' | 'unreadable'> | null> {
  const subscriptions = new Map<string, ListedSubscription>();
  let unreadable = 0;
  try {
    const options = { listSubscriptions, customerId, cursor: null, now, signal };
    for await (const page of readListings(options)) {
      for (const subscription of page.subscriptions) {
        subscriptions.set(subscription.subscriptionId, subscription);
      }
      unreadable += page.unreadable;
    }
  } catch (error) {
    if (isRefusedByStripe(error)) return null;
    throw error;
  }
  return { subscriptions: [...subscriptions.values()], unreadable };
}
