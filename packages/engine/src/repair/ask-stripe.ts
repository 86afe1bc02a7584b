// Asks Stripe what maintenance needs to know about single subscriptions, products and customers, in one job: the orders of
// events that are ambiguous, the names of products, and the first subscriptions of customers.

import type { Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import { writeProductName } from '../postgres/statements/products.ts';
import { DeadlineExceeded } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/logging.ts';
import { Stopped } from '../runtime/retry.ts';
import type { StripeApi } from '../stripe/api.ts';
import { lastShownSecond } from '../stripe/api-call.ts';
import { StripeApiFailed, unlessRefused } from '../stripe/api-failure.ts';
import { parseListedSubscription } from '../stripe/subscription-snapshot.ts';
import type { FailedJobs } from './failed-jobs.ts';
import {
  type Question,
  type QuestionKind,
  raiseQuestions,
  storeAnswered,
  takeQuestion,
} from './questions.ts';
import type { ReconciliationIssue } from './reconcile/drift.ts';
import { listCustomer } from './reconcile/listed-subscriptions.ts';
import type { ReconcileServices } from './reconcile/progress.ts';
import { reconcileSubscribed, snapshotOf } from './reconcile/reconcile-teams.ts';
import { FORBIDDEN_PAUSE_MS, type Job, LACKS_PERMISSION } from './worker.ts';

export const ASK_STRIPE_JOB = 'ask-stripe';

/** Asks Stripe about one subject, and uses the answer. `askedAtMs` is by the database's clock. */
type Ask = (subject: string, signal: AbortSignal, askedAtMs: number) => Promise<unknown>;

type AskOptions = {
  readonly query: Query;
  /** How each kind of question is asked, in the order of their priority. */
  readonly asks: Readonly<Partial<Record<QuestionKind, Ask>>>;
  /** Raises questions about new customers, when that is due. */
  readonly findNewCustomers?: () => Promise<unknown>;
  readonly failedJobs: Pick<FailedJobs, 'failed' | 'succeeded'>;
  readonly logger: Logger;
  /** A question that failed or is still open is asked again after this time, and then after doubling pauses. */
  readonly firstPauseMs?: number;
};

/** The number of questions after which new ones are raised, so that an ambiguous order is asked about within seconds. */
const ROUND = 10;

/**
 * Asks the questions that are due. One that fails keeps no other waiting, and a key without the permission for one kind
 * keeps no other kind waiting. The job fails, and pauses, when Stripe can't be reached, or answers no question of a round.
 */
export function createAskJob({
  query,
  asks,
  findNewCustomers = async () => undefined,
  failedJobs,
  logger,
  firstPauseMs = 5_000,
}: AskOptions): Job['run'] {
  const kinds = Object.keys(asks) as QuestionKind[];

  /** The error of one question; `null` if there was an answer. */
  async function answerOf({ kind, subject, askedAtMs }: Question, signal: AbortSignal) {
    try {
      await asks[kind]?.(subject, signal, askedAtMs);
      await failedJobs.succeeded(kind);
      return null;
    } catch (err) {
      if (signal.aborted) throw new Stopped();
      if (err instanceof StripeApiFailed && err.isForbidden) {
        logger.warn({ job: kind, err }, LACKS_PERMISSION);
        await failedJobs.failed(kind, err, FORBIDDEN_PAUSE_MS);
        return null;
      }
      const isAnswer = err instanceof StripeApiFailed && err.status !== null;
      if (!isAnswer && !(err instanceof DeadlineExceeded) && !canOthersSucceed(err)) throw err;
      logger.warn({ job: kind, subject, err }, 'question to Stripe failed');
      return err;
    }
  }

  return async (signal) => {
    let dueBeforeMs: number | null = null;
    let isRoundFull = true;
    while (isRoundFull && !signal.aborted) {
      await findNewCustomers();
      const raisedAtMs = await raiseQuestions(query);
      // Those that become due meanwhile are for the next run.
      dueBeforeMs ??= raisedAtMs;
      const results: unknown[] = [];
      while (results.length < ROUND && !signal.aborted) {
        const question = await takeQuestion(query, { kinds, dueBeforeMs, firstPauseMs });
        if (question === null) break;
        results.push(await answerOf(question, signal));
      }
      if (results.length > 0 && !results.includes(null)) throw results.at(-1);
      isRoundFull = results.length === ROUND;
    }
  };
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

/**
 * Lists the subscriptions of a customer who was linked to a team: `customer.subscription.created` is not one of the two
 * types, and a trial has no other event for two weeks.
 */
export function askForSubscriptions(services: ReconcileServices): Ask {
  const { logger, database } = services;
  const onIssue = (issue: ReconciliationIssue) =>
    logger.info(issue, 'first subscription of a team');
  const options = { ...services, isDryRun: false, onIssue };
  return async (customerId, signal, askedAtMs) => {
    const listed = await listCustomer(customerId, options, signal);
    await reconcileSubscribed(customerId, listed?.subscriptions ?? null, options, signal);
    await storeAnswered(database.query, [customerId], askedAtMs);
  };
}
