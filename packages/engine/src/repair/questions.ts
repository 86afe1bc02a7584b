// What maintenance asks Stripe, and when again: the table `instep.questions`. `ask-stripe.ts` asks; reconciliation and a
// checkout say whom they have asked for, or could not.

import type { Query } from '../postgres/database.ts';
import { examine } from '../postgres/examine.ts';
import { onlyRow } from '../postgres/named-statement.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { END_MARGIN_SECONDS } from '../rule/access-facts.ts';
import { type LeasedRun, sweep } from './lease.ts';

/**
 * What Stripe is asked for: a subscription whose order of events is ambiguous, or whose end no event has confirmed, a
 * product without a name or with one that is nearly a day old, or the subscriptions of a customer of whom none is known.
 */
export type QuestionKind =
  | 'ambiguous-order'
  | 'unconfirmed-ends'
  | 'product-names'
  | 'first-subscriptions';

export type Question = {
  readonly kind: QuestionKind;
  /** The id of the subscription, the product or the customer. */
  readonly subject: string;
  /** By the database's clock. */
  readonly askedAtMs: number;
};

/** Events of the last seconds are left out, so that Stripe's answer includes all of their second. */
const RAISE_QUESTIONS = ({ teams }: ApplicationTables) => `
      with open as materialized (
        select 'ambiguous-order' as kind, ambiguous_subscription_id as subject
          from instep.customers
         where ambiguous_since < now() - interval '3 seconds'
           and ambiguous_subscription_id is not null
           and exists (select from ${teams.rows} as teams where provider_customer_id = customer_id)
         union all
        select 'unconfirmed-ends', access_subscription_id
          from instep.customers
         where access_ends_at < now() - interval '${END_MARGIN_SECONDS} seconds'
           and access_subscription_id is not null
           and exists (select from ${teams.rows} as teams where provider_customer_id = customer_id)
         union all
        select 'product-names', product_id
          from instep.products
         where name is null
            or looked_up_at < now() - interval '20 hours'
         union
        select 'product-names', provider_product_id
          from instep.customers
         where is_nameless
           and not exists (select from instep.products where product_id = provider_product_id)
      ), closed as (
        delete from instep.questions as question
         where kind in ('ambiguous-order', 'unconfirmed-ends', 'product-names')
           and not exists (
                 select
                   from open
                  where open.kind = question.kind
                    and open.subject = question.subject
               )
      ), raised as (
        insert into instep.questions (kind, subject)
        select kind, subject
          from open
         order by kind, subject
            on conflict do nothing
      )
      select (extract(epoch from now()) * 1000)::float8 as "raisedAtMs"`;

/**
 * Raises the questions about orders, ends and names that are open now, and removes those that no longer are. Returns when, by
 * the database's clock.
 */
export async function raiseQuestions(query: Query): Promise<number> {
  const statement = { name: 'raise_questions', text: RAISE_QUESTIONS };
  return (await onlyRow<{ raisedAtMs: number }>(query, statement)).raisedAtMs;
}

/** The pause doubles this often, to about a day. */
const MAX_DOUBLED = 14;

const TAKE_QUESTION = `
      with due as (
        select question.kind, question.subject
          from unnest($1::text[]) with ordinality as asked (kind, priority)
         cross join lateral (
                 select kind, subject
                   from instep.questions
                  where kind = asked.kind
                    and due_at < to_timestamp($2 / 1000.0)
                    and due_at < 'infinity'
                  order by due_at
                  limit 1
                    for update skip locked
               ) as question
         where not exists (
                 select
                   from instep.leased_jobs
                  where name = asked.kind
                    and attempt_at > now()
               )
         order by priority
         limit 1
      )
      update instep.questions as question
         set attempts = attempts + 1,
             due_at   = now() + least(
                          $3 * interval '1 millisecond' * 2 ^ least(attempts, ${MAX_DOUBLED}),
                          interval '1 hour'
                        )
        from due
       where question.kind = due.kind
         and question.subject = due.subject
      returning question.kind,
                question.subject,
                (extract(epoch from now()) * 1000)::float8 as "askedAtMs"`;

type TakeOptions = {
  /** In the order of their priority. Those that the key lacks the permission for are left out. */
  readonly kinds: readonly QuestionKind[];
  readonly dueBeforeMs: number;
  readonly firstPauseMs: number;
};

/**
 * The next question to ask: one that was never asked comes before all repetitions. It is due again after a pause, so no
 * other instance asks it meanwhile, and it is not lost if this one ends.
 */
export async function takeQuestion(
  query: Query,
  { kinds, dueBeforeMs, firstPauseMs }: TakeOptions,
): Promise<Question | null> {
  const values = [kinds, dueBeforeMs, firstPauseMs];
  const [row] = await query<Question>({ name: 'take_question', text: TAKE_QUESTION, values });
  return row ?? null;
}

/** SQL for whether Stripe has answered about the customer of a row of `teams` since that was last needed. */
export const IS_COMPARED = `exists (
               select
                 from instep.questions
                where kind = 'first-subscriptions'
                  and subject = provider_customer_id
                  and answered_at >= raised_at
             )`;

/** Whether Stripe has answered about a customer of a team. */
export async function readIsCompared(query: Query, customerId: string | null): Promise<boolean> {
  const text = `select from (values ($1::text)) as team (provider_customer_id) where ${IS_COMPARED}`;
  const rows = await query({ name: 'read_is_compared', text, values: [customerId] });
  return rows.length > 0;
}

/** SQL for whether no subscription is known of the customer of a row of `teams`, or not the one of the row. */
const IS_UNKNOWN = `not exists (
                   select
                     from instep.customers as state
                    where state.customer_id = teams.provider_customer_id
                      and state.subscription_status is not null
                      and (teams.provider_subscription_id is null
                           or teams.provider_subscription_id = any (state.subscription_ids))
                 )`;

/** How many customers one statement examines, in indexes alone if there is none to ask for. */
const CUSTOMERS = 5_000;

/** With more, those that a reconciliation in progress answers at once would be asked for one by one. */
const MAX_RAISED = 50;

const FIND_NEW_CUSTOMERS = ({ teams }: ApplicationTables) => `
      unasked as (
        select distinct examined.customer_id
          from examined
          left join lateral (
                 select true as is_asked
                   from instep.questions
                  where kind = 'first-subscriptions'
                    and subject = examined.customer_id
                 offset 0
               ) as asked on true
         where is_asked is null
      ), found as (
        insert into instep.questions (kind, subject)
        select 'first-subscriptions', customer_id
          from unasked
         cross join lateral (
                 select bool_or(${IS_UNKNOWN}) as is_unknown
                   from ${teams.rows} as teams
                  where provider_customer_id = unasked.customer_id
               ) as linked
         where is_unknown
            or exists (
                 select
                   from instep.leased_jobs
                  where name = 'reconcile'
                    and progress -> 'completed' is not null
               )
         order by customer_id
         limit ${MAX_RAISED}
            on conflict do nothing
        returning subject
      )`;

/**
 * Raises questions for those of the next customers of teams for whom Stripe was never asked, and of whom no subscription
 * is known, or whose team has come since the first comparison of all teams.
 */
export async function raiseNewCustomers(run: LeasedRun, query: Query): Promise<void> {
  const next = (after: number | string | null) =>
    examine<object, string>(query, {
      name: 'raise_new_customers',
      examined: ({ teams }) => `
        select provider_customer_id as customer_id
          from ${teams.rows} as teams
         where ${isAfter('text', '$1::text', 'provider_customer_id')}
         order by provider_customer_id
         limit ${CUSTOMERS}`,
      key: 'customer_id',
      limit: CUSTOMERS,
      found: FIND_NEW_CUSTOMERS,
      values: [after],
    });
  await sweep(run, next, { limit: MAX_RAISED });
}

const STORE_ANSWERED = ({ teams }: ApplicationTables) => `
      with linked as (
        select distinct provider_customer_id as customer_id
          from ${teams.rows} as teams
         where provider_customer_id = any ($1::text[])
      ), unlinked as (
        -- A question is raised again if a team gets the customer.
        delete from instep.questions
         where kind = 'first-subscriptions'
           and subject = any ($1::text[])
           and subject not in (select customer_id from linked)
      )
      insert into instep.questions as question (kind, subject, raised_at, answered_at, due_at)
      select 'first-subscriptions',
             customer_id,
             to_timestamp($2 / 1000.0),
             to_timestamp($2 / 1000.0),
             case
               when exists (
                 select
                   from instep.customers as state
                  where state.customer_id = linked.customer_id
                    and state.subscription_status is not null
               )
                 then 'infinity'
               else now() + interval '5 seconds'
             end
        from linked
       order by customer_id
          on conflict (kind, subject) do update
         set answered_at = greatest(question.answered_at, excluded.answered_at),
             due_at      = case
                             when question.raised_at > excluded.answered_at
                                  or question.due_at = 'infinity'
                               then question.due_at
                             when question.attempts > ${MAX_DOUBLED}
                                  or excluded.due_at = 'infinity'
                               then 'infinity'
                             else now() + interval '5 seconds' * 2 ^ greatest(question.attempts - 1, 0)
                           end`;

/**
 * Stores that Stripe, asked at this time, has answered about these customers. Those of whom it had no subscription are
 * asked for again after doubling pauses, for a day, because a customer can be created long before the checkout is
 * completed. A question that was raised since then stays open. Customers without a team are left out.
 */
export async function storeAnswered(
  query: Query,
  customerIds: readonly string[],
  askedAtMs: number,
): Promise<void> {
  const values = [customerIds, askedAtMs];
  await query({ name: 'store_answered', text: STORE_ANSWERED, values });
}

/** Lets maintenance ask for these customers' subscriptions at once, and again until Stripe answers. */
export async function requestSubscriptions(
  query: Query,
  customerIds: readonly string[],
): Promise<void> {
  await query({
    name: 'request_subscriptions',
    text: `
      insert into instep.questions (kind, subject)
      select 'first-subscriptions', customer_id
        from unnest($1::text[]) as customer (customer_id)
          on conflict (kind, subject) do update
         set raised_at = now(),
             due_at    = '-infinity',
             attempts  = 0`,
    values: [customerIds],
  });
}
