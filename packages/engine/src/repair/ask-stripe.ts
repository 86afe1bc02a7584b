// Asks Stripe what maintenance needs to know about single subscriptions, products and customers, in one job: the orders of
// events that are ambiguous, ends that no event has confirmed, the names of products, and the first subscriptions of
// customers.

import type { Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import { writeProductName } from '../postgres/statements/products.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { END_MARGIN_SECONDS } from '../rule/access-facts.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logging.ts';
import { Stopped } from '../runtime/retry.ts';
import type { StripeApi } from '../stripe/api.ts';
import { lastShownSecond } from '../stripe/api-call.ts';
import { StripeApiFailed, unlessRefused } from '../stripe/api-failure.ts';
import { parseListedSubscription } from '../stripe/subscription-snapshot.ts';
import { readNewCustomers } from './asked-customers.ts';
import type { FailedJobs } from './failed-jobs.ts';
import { READS_ALL_TEAMS, sweep, withLease } from './lease.ts';
import { type ReconcileServices, snapshotOf } from './reconcile/compare-customer.ts';
import { Rests } from './rests.ts';
import { FORBIDDEN_PAUSE_MS, type Job, LACKS_PERMISSION } from './worker.ts';

export const ASK_STRIPE_JOB = 'ask-stripe';

/**
 * What Stripe is asked for: a subscription whose order of events is ambiguous, or whose end no event has confirmed, a
 * product without a name or with one that is nearly a day old, or the subscriptions of a customer of whom none is known.
 */
type QuestionKind =
  | 'ambiguous-order'
  | 'unconfirmed-ends'
  | 'product-names'
  | 'first-subscriptions';

type Question = {
  readonly kind: QuestionKind;
  /** The id of the subscription, the product or the customer. */
  readonly subject: string;
};

const keyOf = ({ kind, subject }: Question) => `${kind} ${subject}`;

/** How many questions a run asks. The next one begins with the most urgent again. */
const ROUND = 20;

/**
 * The open questions, except some: by their kind, and about a customer for whom Stripe was never asked before all
 * repetitions. Events of the last seconds are left out, so that Stripe's answer includes all of their second.
 */
const READ_QUESTIONS = ({ teams }: ApplicationTables) => `
      with question (priority, kind, subject, customer_id) as (
        select 1, 'ambiguous-order', ambiguous_subscription_id, customer_id
          from instep.customers
         where ambiguous_since < now() - interval '3 seconds'
           and ambiguous_subscription_id is not null
         union all
        select 3, 'unconfirmed-ends', access_subscription_id, customer_id
          from instep.customers
         where access_ends_at < now() - interval '${END_MARGIN_SECONDS} seconds'
           and access_subscription_id is not null
         union all
        select case when asked_at is null then 2 else 5 end, 'first-subscriptions', customer_id, customer_id
          from instep.asked_customers
         where again_at < now()
      ), open as (
        select priority, kind, subject
          from question
         where exists (
                 select
                   from ${teams.rows} as teams
                  where provider_customer_id = question.customer_id
               )
         union all
        select 2, 'first-subscriptions', unnest($3::text[])
         union all
        select 4, 'product-names', product_id
          from instep.products
         where name is null
            or looked_up_at < now() - interval '20 hours'
         union
        select 4, 'product-names', provider_product_id
          from instep.customers
         where is_nameless
           and not exists (select from instep.products where product_id = provider_product_id)
      )
      select kind, subject
        from open
       where kind = any ($1::text[])
         and kind || ' ' || subject <> all ($2::text[])
         and not exists (
               select
                 from instep.leased_jobs
                where name = kind
                  and attempt_at > now()
             )
       order by priority, subject
       limit ${ROUND}`;

/** Asks Stripe about one subject, and uses the answer. */
type Ask = (subject: string, signal: AbortSignal) => Promise<unknown>;

type AskOptions = {
  readonly query: Query;
  readonly asks: Readonly<Partial<Record<QuestionKind, Ask>>>;
  readonly failedJobs: Pick<FailedJobs, 'failed' | 'succeeded'>;
  readonly logger: Logger;
  /** The instance, for the lease. */
  readonly holder: string;
  /** How long after the beginning of a run another one begins. */
  readonly dueAfterMs?: number;
  /** A question that failed or is still open is asked again after this time, and then after doubling pauses. */
  readonly firstPauseMs?: number;
  readonly clockMs?: (() => number) | undefined;
};

const LONGEST_PAUSE_MS = 60 * 60 * 1_000;

/**
 * Asks the questions that are open, the most urgent first. One that fails keeps no other waiting, and a key without the
 * permission for one kind keeps no other kind waiting. The job fails, and pauses, when Stripe can't be reached, or answers no
 * question of a run.
 */
export function createAskJob(options: AskOptions): Job {
  const { query, asks, holder, firstPauseMs = 5_000, clockMs } = options;
  const { dueAfterMs = READS_ALL_TEAMS.dueAfterMs } = options;
  const rests = new Rests({ firstPauseMs, longestPauseMs: LONGEST_PAUSE_MS, clockMs });
  const lease = { ...READS_ALL_TEAMS, name: ASK_STRIPE_JOB, holder, dueAfterMs };

  async function findNew(afterId: number | string | null) {
    if (asks['first-subscriptions'] === undefined) return { found: [], examinedTo: null };
    const exceptIds = rests.current().map((key) => key.slice(key.indexOf(' ') + 1));
    return await readNewCustomers(query, { afterId, exceptIds, limit: ROUND });
  }

  async function askAll(questions: readonly Question[], signal: AbortSignal): Promise<void> {
    const forbidden = new Set<QuestionKind>();
    const errors: unknown[] = [];
    let answers = 0;
    for (const question of questions) {
      if (signal.aborted) return;
      if (forbidden.has(question.kind)) continue;
      const key = keyOf(question);
      rests.begin(key);
      const { kind, error } = await answerOf(question, options, signal);
      if (kind === 'error') errors.push(error);
      else answers += 1;
      if (kind === 'forbidden') forbidden.add(question.kind);
      // The table says when to ask about a customer again.
      if (kind === 'answer' && question.kind === 'first-subscriptions') rests.end(key);
    }
    if (answers === 0 && errors.length > 0) throw errors[0];
  }

  async function run(signal: AbortSignal): Promise<void> {
    await withLease(query, lease, async (run) => {
      const newIds = await sweep(run, findNew, { limit: ROUND });
      const values = [Object.keys(asks), rests.current(), newIds];
      const statement = { name: 'read_questions', text: READ_QUESTIONS, values };
      await askAll(await query<Question>(statement), signal);
    });
  }
  return { name: ASK_STRIPE_JOB, intervalMs: 1_000, run };
}

/** `forbidden`: the key lacks the permission for this kind. */
type Answer =
  | { readonly kind: 'answer' | 'forbidden'; readonly error?: undefined }
  | { readonly kind: 'error'; readonly error: unknown };

async function answerOf(
  { kind, subject }: Question,
  { asks, failedJobs, logger }: AskOptions,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    await asks[kind]?.(subject, signal);
    await failedJobs.succeeded(kind);
    return { kind: 'answer' };
  } catch (err) {
    if (signal.aborted) throw new Stopped();
    if (err instanceof StripeApiFailed && err.isForbidden) {
      logger.warn({ job: kind, err }, LACKS_PERMISSION);
      await failedJobs.failed(kind, err, FORBIDDEN_PAUSE_MS);
      return { kind: 'forbidden' };
    }
    const isAnswer = err instanceof StripeApiFailed && err.status !== null;
    if (!isAnswer && !(err instanceof DeadlineExceeded) && !canOthersSucceed(err)) throw err;
    logger.warn({ job: kind, subject, err }, 'question to Stripe failed');
    return { kind: 'error', error: err };
  }
}

/** Ingests a subscription whose end no event has confirmed, as Stripe has it now. */
export function askForEnd(
  { ingest, now, nonce }: Pick<ReconcileServices, 'ingest' | 'now' | 'nonce'>,
  retrieveSubscription: StripeApi['retrieveSubscription'],
): Ask {
  return async (subscriptionId, signal) => {
    const answer = await unlessRefused(retrieveSubscription(subscriptionId, signal));
    if (answer === null) return;
    const asOfSeconds = lastShownSecond(answer, now());
    const listed = parseListedSubscription(answer.body, asOfSeconds);
    if (listed === null) return;
    const seconds = listed.endedSeconds ?? asOfSeconds;
    await ingest(snapshotOf({ listed, seconds }, { now, nonce }));
  };
}

/** Looks up a product's name. If Stripe refuses the id, there is none. */
export function askForName(
  query: Query,
  retrieveProductName: StripeApi['retrieveProductName'],
): Ask {
  return async (productId, signal) => {
    const name = await unlessRefused(retrieveProductName(productId, signal));
    await writeProductName(query, productId, name);
  };
}
