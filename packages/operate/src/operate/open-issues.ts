// The statements that find issues in what is stored anyway: parked and unreadable events, ambiguous orders, due payments,
// customers that Stripe charges twice. Those of `instep.findings` are in postgres/statements/issues.ts. find-issues.ts
// makes issues of the rows.

import {
  type ApplicationTables,
  isDismissed,
  isNotDismissed,
  onlyRow,
  PAID_WITHOUT_PLAN,
  type Query,
} from 'instep-engine/postgres';
import { END_MARGIN_SECONDS } from 'instep-engine/rule';
import { PAYMENT_DUE_DAYS, type SubjectIssueCode } from '../health/issues.ts';
import { FROM_DOUBLE_BILLED } from './double-billing.ts';

/** A customer with parked events that were not dismissed. */
export type ParkedCustomer = {
  readonly customerId: string;
  /** No more than `MAX_COUNTED_OF_CUSTOMER` are counted. */
  readonly events: number;
  readonly newestPosition: number;
  /** When the oldest one arrived. */
  readonly sinceMs: number;
};

export const MAX_COUNTED_OF_CUSTOMER = 100;

export type CustomerPage = { readonly afterCustomerId: string; readonly limit: number };

const FIRST_PARKED_AFTER = (customerId: string) => `
               select customer_id
                 from instep.events as event
                where outcome = 'parked'
                  and customer_id > ${customerId}
                  and not ${isDismissed('event')}
                order by customer_id
                limit 1`;

/**
 * The customers with parked events, in the order of their ids. The statement moves from one customer to the
 * next in the index of the parked events, so it reads only those of its page.
 */
export async function readParkedCustomers(
  query: Query,
  { afterCustomerId, limit }: CustomerPage,
): Promise<ParkedCustomer[]> {
  return await query<ParkedCustomer>({
    name: 'read_parked_customers',
    text: `
      with recursive customer as (
        (${FIRST_PARKED_AFTER('$1')})
         union all
        select (${FIRST_PARKED_AFTER('customer.customer_id')})
          from customer
         where customer.customer_id is not null
      ), page as materialized (
        select customer_id
          from customer
         where customer_id is not null
         limit $2
      )
      select page.customer_id as "customerId",
             events,
             "newestPosition",
             (extract(epoch from since) * 1000)::bigint as "sinceMs"
        from page
       cross join lateral (
               select count(*) as events,
                      max(position) as "newestPosition",
                      min(received_at) as since
                 from (
                        select position, received_at
                          from instep.events as event
                         where outcome = 'parked'
                           and customer_id = page.customer_id
                           and not ${isDismissed('event')}
                         limit ${MAX_COUNTED_OF_CUSTOMER}
                      ) as counted
             ) as parked
       order by page.customer_id`,
    values: [afterCustomerId, limit],
  });
}

/** Subscriptions of teams whose order Stripe has not decided for ten minutes. */
const LASTING_AMBIGUITIES = ({ teams }: ApplicationTables) => `
        from instep.customers
       where ambiguous_since < now() - interval '10 minutes'
         and ambiguous_subscription_id is not null
         and exists (select from ${teams.rows} as teams where provider_customer_id = customer_id)
         and ${isNotDismissed("'subscription:' || ambiguous_subscription_id", 'ambiguous_since')}`;

// Only unreadable events have no customer, and the index `events_of_customer` has these first.
const UNREADABLE_EVENTS = `
        from instep.events
       where customer_id is null
         and outcome = 'unreadable'
         and ${isNotDismissed("'event:' || position", 'received_at')}`;

/** The positions of unreadable events before a position, the newest first. */
export async function readUnreadablePositions(
  query: Query,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number[]> {
  const rows = await query<{ position: number }>({
    name: 'read_unreadable_positions',
    text: `
      select position
      ${UNREADABLE_EVENTS}
         and position < $1
       order by position desc
       limit $2`,
    values: [before, limit],
  });
  return rows.map(({ position }) => position);
}

/**
 * Subscriptions whose teams keep their plan, although a payment has been due for long. The planner would expect one of
 * all, and read all to find it, if it saw the condition on the team.
 */
const DUE_PAYMENTS = ({ teams }: ApplicationTables) => `
        from instep.customers as state
       cross join lateral (
               select exists (
                        select
                          from ${teams.rows} as teams
                         where provider_customer_id = state.customer_id
                           and provider_subscription_id = state.access_subscription_id
                           and ${isNotDismissed("'team:' || teams.id", 'state.access_since')}
                      ) as keeps_plan
               offset 0
             ) as team
       where due_since < now() - interval '${PAYMENT_DUE_DAYS} days'
         and access_status = 'past_due'
         and access_since < now() - interval '${PAYMENT_DUE_DAYS} days'
         and keeps_plan`;

/** Subscriptions of teams whose planned end has passed by the margin that the view gives it. */
const UNCONFIRMED_ENDS = ({ teams }: ApplicationTables) => `
        from instep.customers as state
       where access_ends_at < now() - interval '${END_MARGIN_SECONDS} seconds'
         and access_subscription_id is not null
         and exists (
               select
                 from ${teams.rows} as teams
                where provider_customer_id = customer_id
                  and ${isNotDismissed("'team:' || teams.id", 'state.access_ends_at')}
             )`;

/** A subscription that is itself the issue, or whose payment is. */
type AffectedSubscription = {
  readonly customerId: string;
  readonly subscriptionId: string;
  /** When its deciding event was created, or the first past-due event since the last payment, or when it should have ended. */
  readonly sinceMs: number;
};

/** A function that reads subscriptions with an issue, ordered by customer. */
function readerOf(
  name: string,
  customers: (tables: ApplicationTables) => string,
  { id, since }: { readonly id: string; readonly since: string },
) {
  const text = (tables: ApplicationTables) => `
      select customer_id as "customerId",
             ${id} as "subscriptionId",
             (extract(epoch from ${since}) * 1000)::bigint as "sinceMs"
      ${customers(tables)}
         and customer_id > $1
       order by customer_id
       fetch first $2 rows with ties`;
  return (query: Query, { afterCustomerId, limit }: CustomerPage) =>
    query<AffectedSubscription>({ name, text, values: [afterCustomerId, limit] });
}

export const readUnknownOrders = readerOf('read_unknown_orders', LASTING_AMBIGUITIES, {
  id: 'ambiguous_subscription_id',
  since: 'ambiguous_since',
});
export const readDuePayments = readerOf('read_due_payments', DUE_PAYMENTS, {
  id: 'access_subscription_id',
  since: 'access_since',
});

export const readUnconfirmedEnds = readerOf('read_unconfirmed_ends', UNCONFIRMED_ENDS, {
  id: 'access_subscription_id',
  since: 'access_ends_at',
});

/** Counting stops here. */
export const MAX_COUNTED_ISSUES = 100;

/** The rows of each issue that a statement finds, for counting. */
const LISTED = {
  'unknown-order': LASTING_AMBIGUITIES,
  'unreadable-event': () => UNREADABLE_EVENTS,
  'paid-without-plan': PAID_WITHOUT_PLAN,
  'payment-due': DUE_PAYMENTS,
  'end-not-confirmed': UNCONFIRMED_ENDS,
  'double-billed': () => FROM_DOUBLE_BILLED,
} as const satisfies Partial<Record<SubjectIssueCode, (tables: ApplicationTables) => string>>;

export type ListedIssueCode = keyof typeof LISTED;

export const LISTED_ISSUES = Object.keys(LISTED) as ListedIssueCode[];

/** `select (select count(*) from …) as "unknown-order", …` */
const COUNT_LISTED_ISSUES = (tables: ApplicationTables) => `
      select ${Object.entries(LISTED)
        .map(
          ([code, rows]) => `(
               select count(*)
                 from (select ${rows(tables)} limit ${MAX_COUNTED_ISSUES}) as found
             ) as "${code}"`,
        )
        .join(',\n             ')}`;

/** How many issues of each code there are, of those that a statement finds. */
export async function countListedIssues(
  query: Query,
): Promise<Readonly<Record<ListedIssueCode, number>>> {
  return await onlyRow<Record<ListedIssueCode, number>>(query, {
    name: 'count_listed_issues',
    text: COUNT_LISTED_ISSUES,
  });
}
