// What an app calls when a customer returns from a checkout, and to sync a customer: one question to Stripe, whose answer
// becomes the team's link and its plan.

import { readEvents } from 'instep-engine/log';
import {
  type ApplicationId,
  type LinkRefusal,
  linkAvailableTeam,
  readStates,
  readTeam,
  readTeamsOf,
  type Team,
} from 'instep-engine/postgres';
import {
  compareAnswer,
  listCustomer,
  type ReconcileServices,
  type ReconciliationIssue,
  requestSubscriptions,
  snapshotOf,
} from 'instep-engine/repair';
import type { JsonObject } from 'instep-engine/rule';
import { abortAfter, CodedError, DeadlineExceeded, withDeadline } from 'instep-engine/runtime';
import {
  isId,
  type ListedSubscription,
  lastShownSecond,
  parseListedSubscription,
  SNAPSHOT_TYPE,
  type StripeApi,
  StripeApiFailed,
  TEAM_KEY,
  teamNamedIn,
} from 'instep-engine/stripe';
import * as v from 'valibot';
import { readAccess, type TeamAccess } from '../access/team-access.ts';

/** The parts of a Checkout Session that can name its team. */
export type CheckoutOf = {
  readonly clientReferenceId: string | null;
  readonly customerId: string;
  readonly metadata: Readonly<Record<string, string>>;
};

export type CompleteCheckoutRequest = {
  /** The team that paid, or a function that finds it. Never an id from the browser alone. */
  readonly teamId: ApplicationId | ((checkout: CheckoutOf) => Promise<ApplicationId>);
};

/** Why a checkout was not completed, or a customer not synced. docs/errors.md has the cause and remedy of each. */
export type SyncFailedCode =
  | 'CHECKOUT_NOT_COMPLETE'
  | 'CHECKOUT_OF_ANOTHER_TEAM'
  | 'CUSTOMER_UNKNOWN'
  | 'CUSTOMER_WITHOUT_TEAM'
  | 'NOT_FOUND'
  | 'STRIPE_UNAVAILABLE'
  | 'TEAM_HAS_ANOTHER_CUSTOMER';

/**
 * A checkout was not completed, or a customer not synced. Nothing was changed, except that `syncCustomer` can have stored
 * a part before `STRIPE_UNAVAILABLE`.
 */
export class SyncFailed extends CodedError<SyncFailedCode> {}

/** What `completeCheckout` and `syncCustomer` work with. */
export type CheckoutServices = ReconcileServices & {
  readonly api: Pick<StripeApi, 'retrieveCheckoutSession'>;
  /** The key of a subscription's metadata that names a team; `teamId` by default. */
  readonly linkByMetadata?: string | null;
};

/** The longest time for a call, with all calls to Stripe and the function that finds the team. */
const DEADLINE_MS = 5_000;

/** The rest is for the name of a product and for the database. */
const STRIPE_DEADLINE_MS = 2_500;

/**
 * Links the customer of a completed checkout to its team, and gives the team the plan, after one call to Stripe. It is
 * idempotent, and a webhook can arrive before, after or at the same time.
 *
 * @throws SyncFailed, DeadlineExceeded after 5 s, or an error of the database; calling it again can complete it
 */
export async function completeCheckout(
  services: CheckoutServices,
  sessionId: string,
  { teamId }: CompleteCheckoutRequest,
): Promise<TeamAccess> {
  return await withDeadline(complete(services, sessionId, teamId), DEADLINE_MS);
}

async function complete(
  services: CheckoutServices,
  sessionId: string,
  teamOf: CompleteCheckoutRequest['teamId'],
): Promise<TeamAccess> {
  // Without an answer, only the id of a team that is linked already leads to the customer.
  const customerOf = async () =>
    typeof teamOf === 'function' ? null : ((await findTeam(services, teamOf))?.customerId ?? null);
  const retrieved = await retrieveCheckout(sessionId, services, customerOf);
  const { checkout, metadataOfBoth, listed, snapshots } = retrieved;
  const { customerId } = checkout;
  const teamId = typeof teamOf === 'function' ? await teamOf(checkout) : teamOf;
  const team = await findTeam(services, teamId);
  if (team === null) throw new SyncFailed('NOT_FOUND', 'there is no such team');
  checkMetadata(services, metadataOfBoth, team.id);
  if (team.customerId !== customerId || !(await isCurrent(listed, services))) {
    const linked = await linkAvailableTeam(services.database, { teamId, customerId }, DEADLINE_MS);
    if (linked !== 'linked') throw refused(linked, team, customerId);
    const changeCause = 'snapshot' as const;
    await services.ingest(snapshots.map((snapshot) => ({ ...snapshot, changeCause })));
  }
  // The events that arrived before the customer had a team, as maintenance would within seconds.
  await services.settle(customerId);
  return await accessOf(team.id, services);
}

/**
 * Gives the teams of a customer the plan that Stripe's list of the customer's subscriptions yields. It is
 * idempotent, like `completeCheckout`.
 *
 * @throws SyncFailed, DeadlineExceeded after 5 s, or an error of the database
 */
export async function syncCustomer(
  services: CheckoutServices,
  customerId: string,
): Promise<TeamAccess> {
  return await withDeadline(sync(services, customerId), DEADLINE_MS);
}

async function sync(services: CheckoutServices, customerId: string): Promise<TeamAccess> {
  const { query } = services.database;
  const teams = isId(customerId) ? await readTeamsOf(query, [customerId]) : [];
  const [team] = teams;
  if (team === undefined) {
    throw new SyncFailed('CUSTOMER_WITHOUT_TEAM', 'no team has this customer: link it first');
  }
  const onIssue = (issue: ReconciliationIssue) => services.logger.info(issue, 'customer synced');
  const options = { ...services, isDryRun: false, isNew: true, onIssue };
  const askedAtMs = services.now();
  const listed = await askStripe(
    (signal) => listCustomer(customerId, options, signal),
    services,
    async () => customerId,
  );
  if (listed === null) {
    throw new SyncFailed('CUSTOMER_UNKNOWN', `Stripe does not know the customer ${customerId}`);
  }
  await abortAfter(DEADLINE_MS, undefined, (signal) =>
    compareAnswer({ customerId, teams, askedAtMs, listed }, options, signal),
  );
  // The events that arrived before the customer had a team, as maintenance would within seconds.
  await services.settle(customerId);
  return await accessOf(team.id, services);
}

async function accessOf(
  teamId: ApplicationId,
  { database }: CheckoutServices,
): Promise<TeamAccess> {
  const access = await readAccess(database.query, teamId);
  if (access === null) throw new SyncFailed('NOT_FOUND', 'the team has just been deleted');
  return access;
}

/** A completed checkout, with its subscription as a snapshot. */
async function retrieveCheckout(
  sessionId: string,
  services: CheckoutServices,
  customerOf: () => Promise<string | null>,
) {
  const { api, now } = services;
  const answer = /^cs_\w{1,250}$/.test(sessionId)
    ? await askStripe(
        (signal) => api.retrieveCheckoutSession(sessionId, signal),
        services,
        customerOf,
      )
    : null;
  if (answer === null) throw incomplete('Stripe knows no such Checkout Session');
  const read = readCheckoutSession(answer.body);
  if (read === null) throw incomplete('the session is not complete, or has no subscription');
  const asOfSeconds = lastShownSecond(answer, now());
  const listed = parseListedSubscription(read.subscription, asOfSeconds);
  if (listed === null) throw incomplete('its subscription can not be read');
  const seconds = Math.min(secondsOf(listed), answer.answeredSeconds ?? asOfSeconds);
  return { ...read, listed, snapshots: snapshotOf({ listed, seconds }, services) };
}

/** How long after the beginning of its subscription a page is still the first one after the checkout. */
const REDIRECT_SECONDS = 600;

const isLate = ({ asOfSeconds, beganSeconds }: ListedSubscription) =>
  asOfSeconds - (beganSeconds ?? asOfSeconds) > REDIRECT_SECONDS;

/**
 * The second to which a subscription is dated: that of the response, so that it counts more than what an older
 * subscription has done since. The end of a subscription, and a page that is loaded much later, take no newer plan away.
 */
function secondsOf({ asOfSeconds, beganSeconds, endedSeconds }: ListedSubscription): number {
  const began = beganSeconds ?? asOfSeconds;
  return endedSeconds ?? Math.max(began, Math.min(asOfSeconds, began + REDIRECT_SECONDS));
}

/**
 * Whether the team has been given all of it, so that another call adds nothing to the log. The first call adds the
 * snapshot even if webhooks have told everything: it is newer than what an older subscription has done meanwhile, so
 * the team's plan does not depend on which of them arrived first.
 */
async function isCurrent(
  listed: ListedSubscription,
  { database: { query } }: CheckoutServices,
): Promise<boolean> {
  const { customerId, subscriptionId, status, productId } = listed;
  const { subscriptions } = (await readStates(query, [customerId])).of(customerId);
  const latest = subscriptions.get(subscriptionId)?.latest.reported;
  // Later changes are a matter of webhooks and maintenance.
  if (isLate(listed)) return latest !== undefined;
  if (latest?.status !== status || latest.plan.providerProductId !== productId) return false;
  const filter = { customerId, subscriptionId, type: SNAPSHOT_TYPE };
  const page = { order: 'newest first', limit: 1 } as const;
  return (await readEvents(query, filter, WHOLE_LOG, page)).length > 0;
}

const WHOLE_LOG = { after: 0, upTo: Number.MAX_SAFE_INTEGER };

const incomplete = (message: string) => new SyncFailed('CHECKOUT_NOT_COMPLETE', message);

/** @throws SyncFailed if the metadata of the session or of the subscription names another team */
function checkMetadata(
  { linkByMetadata }: CheckoutServices,
  metadataOfBoth: readonly CheckoutOf['metadata'][],
  teamId: ApplicationId,
): void {
  for (const metadata of metadataOfBoth) {
    const named = teamNamedIn({ metadata }, linkByMetadata ?? TEAM_KEY);
    if (named !== null && isIdOfAnother(teamId, named)) {
      const message = `the metadata of the checkout names team ${named}, not team ${teamId}`;
      throw new SyncFailed('CHECKOUT_OF_ANOTHER_TEAM', message);
    }
  }
}

const FORMS = [/^-?\d+$/, /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i];

/** Whether a text is the id of another team. A text of another form than its id is something else of the app. */
function isIdOfAnother(teamId: ApplicationId, text: string): boolean {
  const id = String(teamId);
  const isId = FORMS.find((form) => form.test(id))?.test(text) ?? true;
  return isId && text.toLowerCase() !== id.toLowerCase();
}

async function findTeam({ database: { query } }: CheckoutServices, id: ApplicationId) {
  return isId(String(id)) ? await readTeam(query, id) : null;
}

/** Asks Stripe, for a part of the deadline. @throws SyncFailed */
async function askStripe<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  services: CheckoutServices,
  customerOf: () => Promise<string | null>,
): Promise<Value> {
  try {
    return await abortAfter(STRIPE_DEADLINE_MS, undefined, ask);
  } catch (cause) {
    if (!(cause instanceof StripeApiFailed || cause instanceof DeadlineExceeded)) throw cause;
    throw await unavailable(cause, services, customerOf);
  }
}

/** Lets maintenance ask for the customer's subscriptions as soon as Stripe answers again. */
async function unavailable(
  cause: Error,
  { database: { query }, now }: CheckoutServices,
  customerOf: () => Promise<string | null>,
): Promise<SyncFailed> {
  const customerId = await customerOf();
  if (customerId !== null) await requestSubscriptions(query, customerId, now());
  return new SyncFailed('STRIPE_UNAVAILABLE', `Stripe's API failed: ${cause.message}`, { cause });
}

const REFUSALS: Readonly<Record<LinkRefusal, readonly [SyncFailedCode, string]>> = {
  'team has another customer': ['TEAM_HAS_ANOTHER_CUSTOMER', 'it has another customer'],
  'customer has another team': ['CHECKOUT_OF_ANOTHER_TEAM', 'the customer has another team'],
};

function refused(refusal: LinkRefusal, { id }: Team, customerId: string): SyncFailed {
  const [code, reason] = REFUSALS[refusal];
  return new SyncFailed(code, `team ${id} can not be linked to ${customerId}: ${reason}`);
}

const metadata = v.nullish(v.record(v.string(), v.string()), {});

const sessionShape = v.object({
  status: v.literal('complete'),
  mode: v.literal('subscription'),
  customer: v.string(),
  client_reference_id: v.nullish(v.string(), null),
  metadata,
  subscription: v.object({ metadata }),
});

/** Reads a Checkout Session with its subscription; `null` if it is not complete or began no subscription. */
function readCheckoutSession(session: JsonObject) {
  const parsed = v.safeParse(sessionShape, session);
  if (!parsed.success) return null;
  const { customer: customerId, client_reference_id: clientReferenceId, metadata } = parsed.output;
  const checkout: CheckoutOf = { customerId, clientReferenceId, metadata };
  const metadataOfBoth = [metadata, parsed.output.subscription.metadata];
  return { checkout, metadataOfBoth, subscription: session.subscription ?? null };
}
