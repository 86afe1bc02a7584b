// What differs between a customer's teams, the events that are known and what Stripe lists: pure, for `compare-customer.ts`.

import type { ApplicationId } from '../../postgres/application.ts';
import type { IssueCause } from '../../postgres/statements/issues.ts';
import type { LinkedTeam } from '../../postgres/statements/teams.ts';
import type { CustomerState } from '../../rule/customer-state.ts';
import { fold } from '../../rule/fold.ts';
import { KnownEvents } from '../../rule/known-events.ts';
import { isPlanOf, isSamePlan, NO_PLAN } from '../../rule/plan.ts';
import { PLAN_FIELDS, type Plan, type PlanInRow, partOf } from '../../rule/plan-fields.ts';
import { type PlanSelection, selectedReport, teamPlan } from '../../rule/plan-selection.ts';
import { planWriterOf } from '../../rule/plan-writer.ts';
import { type Reported, reportedBy } from '../../rule/reported.ts';
import { ENDED_STATUSES, effectOf } from '../../rule/status.ts';
import { eventOf, type ListedSubscription } from '../../stripe/subscription-snapshot.ts';

/** Why a team does not have the plan that it should have. */
export type DriftCause = Extract<
  IssueCause,
  'missed event' | 'changed by hand' | 'another plan name' | 'no subscription'
>;

/** A subscription, and the second since which it has been as Stripe lists it. */
export type DatedSubscription = { readonly listed: ListedSubscription; readonly seconds: number };

/** A team that does not have the plan that it should have. */
export type Drift = {
  readonly teamId: ApplicationId;
  readonly customerId: string;
  readonly cause: DriftCause;
  /** The subscriptions that differ from what we know; none when the team was changed by hand. */
  readonly subscriptionIds: readonly string[];
  /** When the drift began at the earliest, in seconds since 1970; `null` when it is unknown. */
  readonly sinceSeconds: number | null;
  readonly is: PlanInRow;
  readonly shouldBe: PlanInRow;
};

/** A customer as it is here and at Stripe. */
export type ComparedCustomer = {
  readonly teams: readonly LinkedTeam[];
  readonly state: CustomerState;
  readonly listed: readonly ListedSubscription[];
};

export type Comparison = {
  readonly drifts: readonly Drift[];
  /** The subscriptions that make the plans right once they are ingested as snapshots. */
  readonly missed: readonly DatedSubscription[];
  /** Those with a status that changes no plan, and that no event has reported. It counts for the access. */
  readonly statuses: readonly DatedSubscription[];
};

export type CompareRules = {
  readonly planSelection: PlanSelection;
  readonly names: ReadonlyMap<string | null, string>;
  readonly nowMs: number;
};

/**
 * Compares a customer's teams with the plan that follows from what Stripe lists. Pure.
 *
 * Stripe says when a subscription ended, but not when a live one changed. So if a live subscription differs
 * from what we know, it is dated to the listing, together with all other live subscriptions of the customer:
 * the ordering rule then picks one that grants a plan.
 */
export function compare(
  { teams, state, listed }: ComparedCustomer,
  { planSelection, names, nowMs }: CompareRules,
): Comparison {
  const known = decidingIn(state);
  const statuses = listed
    .filter((one) => isMissedStatus(one, state))
    .map((one) => ({ listed: one, seconds: one.endedSeconds ?? one.asOfSeconds }));
  if (known.size === 0 && listed.length === 0) {
    return { drifts: teams.flatMap(driftWithoutSubscription), missed: [], statuses };
  }
  const current = listed.filter(
    (one) => effectOf(one.status) !== 'none' && !isOutdated(one, known, nowMs),
  );
  const fields = OTHER_FIELDS.filter((name) => teams.some(({ plan }) => name in plan));
  const differing = current.filter((one) => !isKnown(one, known, names, fields));
  const unchangedLive = differing.some(isAlive)
    ? current.filter((one) => isAlive(one) && !differing.includes(one))
    : [];
  const dated = datedByListing([...differing, ...unchangedLive], known);
  const ingested = dated.reduce(withListed, state);
  // A subscription that ended before we knew of it matters only if it decides the team's plan.
  const selectedId = selectedReport(ingested, planSelection)?.plan.providerSubscriptionId;
  const missed = differing.filter(
    ({ subscriptionId, status }) =>
      known.has(subscriptionId) || effectOf(status) === 'grants' || subscriptionId === selectedId,
  );
  const plan = teamPlan(missed.length === 0 ? state : ingested, planSelection, names);
  const deciding = missed.find(({ subscriptionId }) => subscriptionId === selectedId) ?? missed[0];
  const found = {
    cause: missed.length === 0 ? null : ('missed event' as const),
    subscriptionIds: missed.map(({ subscriptionId }) => subscriptionId),
    sinceSeconds: deciding === undefined ? null : sinceOf(deciding, known),
  };
  const followed = teams.filter((team) => planWriterOf(team.plan, ingested) !== 'app');
  const drifts = followed.flatMap((team) => driftFrom(plan, team, found) ?? []);
  const isToIngest = ({ listed }: DatedSubscription) =>
    missed.includes(listed) || unchangedLive.includes(listed);
  const isMissed = followed.length > 0 && missed.length > 0;
  return { drifts, missed: isMissed ? dated.filter(isToIngest) : [], statuses };
}

/** A plan of a subscription that neither Stripe nor an event knows: only the application can have written it. */
function driftWithoutSubscription({ id: teamId, customerId, plan: is }: LinkedTeam): Drift | [] {
  if (!is.providerSubscriptionId) return [];
  const found = { cause: 'no subscription', subscriptionIds: [], sinceSeconds: null } as const;
  return { teamId, customerId, ...found, is, shouldBe: partOf(NO_PLAN, is) };
}

type Missed = Pick<Drift, 'subscriptionIds' | 'sinceSeconds'> & {
  /** `null`: no event was missed. */
  readonly cause: DriftCause | null;
};

/** How a team differs from its plan; `null` if it does not. */
function driftFrom(plan: Plan | null, team: LinkedTeam, { cause, ...found }: Missed): Drift | null {
  if (plan === null) return null;
  const named = { ...plan, planName: plan.planName ?? possibleName(team, plan) };
  if (isPlanOf(team.plan, named)) return null;
  const { id: teamId, customerId, plan: is } = team;
  const shouldBe = partOf(named, is);
  const why = cause ?? causeByHand(is, shouldBe);
  return { teamId, customerId, cause: why, ...found, is, shouldBe };
}

/** Whether the subscription has a status that changes no plan, and that no event has reported. */
function isMissedStatus(
  { subscriptionId, status, asOfSeconds }: ListedSubscription,
  { subscriptions }: CustomerState,
): boolean {
  if (effectOf(status) !== 'none') return false;
  const known = subscriptions.get(subscriptionId)?.latest.reported;
  // One that ended before it was paid, and before we knew of it, matters to no team.
  if (known === undefined) return !ENDED_STATUSES.includes(status);
  return known.status !== status && known.createdSeconds <= asOfSeconds;
}

/** No clock but a test clock is further ahead of ours, unless it is wrong. */
const MAX_AHEAD_SECONDS = 24 * 60 * 60;

/**
 * Whether something newer has arrived since the listing. An event from the future comes from a test clock or a wrong
 * clock, and does not show that the listing is old.
 */
function isOutdated(
  { subscriptionId, asOfSeconds }: ListedSubscription,
  known: Deciding,
  nowMs: number,
): boolean {
  const createdSeconds = known.get(subscriptionId)?.createdSeconds ?? 0;
  return createdSeconds > asOfSeconds && createdSeconds <= nowMs / 1_000 + MAX_AHEAD_SECONDS;
}

/**
 * Whether we know the subscription as it is listed, in the `fields` that the teams' rows can hold. Old API versions have a name
 * and no product.
 */
function isKnown(
  { subscriptionId, status, productId, planName, object }: ListedSubscription,
  known: Deciding,
  names: CompareRules['names'],
  fields: readonly (typeof OTHER_FIELDS)[number][],
): boolean {
  const deciding = known.get(subscriptionId);
  if (deciding?.status !== status) return false;
  if (effectOf(status) !== 'grants') return true;
  const listed = reportedIn(object);
  const isSame = (name: (typeof fields)[number]) =>
    (listed?.[name] ?? null) === (deciding.plan[name] ?? null);
  if (!fields.every(isSame)) return false;
  const { providerProductId, planName: knownName } = deciding.plan;
  if (providerProductId !== null) return providerProductId === productId;
  const name = planName ?? names.get(productId) ?? null;
  return name === null || knownName === null || knownName === name;
}

/** Whether a subscription goes on. */
export function isAlive({ status, endedSeconds }: ListedSubscription): boolean {
  return endedSeconds === null && !ENDED_STATUSES.includes(status);
}

/** All live subscriptions get the same second, because nothing shows which of them changed last. */
function datedByListing(
  listed: readonly ListedSubscription[],
  known: Deciding,
): DatedSubscription[] {
  const asOfSeconds = Math.min(...listed.map((subscription) => subscription.asOfSeconds));
  return listed.map((subscription) => {
    const { subscriptionId, endedSeconds } = subscription;
    const seconds = isAlive(subscription) ? asOfSeconds : (endedSeconds ?? asOfSeconds);
    const knownSeconds = known.get(subscriptionId)?.createdSeconds ?? seconds;
    return { listed: subscription, seconds: Math.max(seconds, knownSeconds) };
  });
}

/** What the deciding event of each subscription reports. */
type Deciding = ReadonlyMap<string | null, Reported>;

function decidingIn({ subscriptions }: CustomerState): Deciding {
  return new Map(
    [...subscriptions].flatMap(([id, { deciding }]) =>
      deciding === null ? [] : [[id, deciding.reported] as const],
    ),
  );
}

/** The fields of a plan that the contract does not have. */
const OTHER_FIELDS = PLAN_FIELDS.filter(({ isRequired }) => !isRequired).map(({ name }) => name);

/** The values of a plan that a listed subscription has. */
function reportedIn(object: ListedSubscription['object']): Plan | null {
  const event = eventOf(object, 0);
  return event && reportedBy(event).plan;
}

/** The state once a listed subscription was ingested as a snapshot. */
function withListed(state: CustomerState, { listed, seconds }: DatedSubscription): CustomerState {
  const event = eventOf(listed.object, seconds);
  return event === null ? state : fold(state, event, new KnownEvents(), 'newest').state;
}

/** When the name of a product is unknown, the team's own name for it may be right. */
function possibleName(team: LinkedTeam, plan: Plan): string | null {
  const { planName, providerProductId } = team.plan;
  const isSameProduct =
    plan.providerProductId !== null && providerProductId === plan.providerProductId;
  return isSameProduct ? (planName ?? null) : null;
}

/** The name alone can also differ because Stripe has another one now. */
function causeByHand(is: PlanInRow, shouldBe: PlanInRow): DriftCause {
  return isSamePlan({ ...is, planName: null }, { ...shouldBe, planName: null })
    ? 'another plan name'
    : 'changed by hand';
}

function sinceOf(
  { subscriptionId, endedSeconds, beganSeconds }: ListedSubscription,
  known: Deciding,
): number | null {
  return endedSeconds ?? known.get(subscriptionId)?.createdSeconds ?? beganSeconds;
}

export type DriftIssue = Drift & { readonly kind: 'drift'; readonly isRepaired: boolean };

export type ReconciliationIssue =
  | DriftIssue
  /** A customer has a subscription that has not ended, and no team gets its plan. */
  | {
      readonly kind: 'customer without a team';
      readonly customerId: string;
      readonly statuses: readonly string[];
    }
  /** Stripe does not have the customer of a team. */
  | ({ readonly kind: 'unknown customer' } & Pick<Drift, 'teamId' | 'customerId'>);
