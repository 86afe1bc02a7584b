// What differs between a team's row, the events that are known and what Stripe lists: pure, for `reconcile-teams.ts`.

import type { ApplicationId } from '../../postgres/application.ts';
import type { FoundIssue, IssueCause } from '../../postgres/statements/issues.ts';
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
  'missed event' | 'never seen' | 'changed by hand' | 'another plan name' | 'no subscription'
>;

/** A subscription, and the second since which it has been as Stripe lists it. */
export type DatedSubscription = { readonly listed: ListedSubscription; readonly seconds: number };

/** A team that does not have the plan that it should have. */
export type Drift = Pick<DriftIssue, 'shouldBe' | 'cause' | 'subscriptionIds' | 'sinceSeconds'> & {
  readonly team: LinkedTeam;
  /** The subscriptions that make the team's plan right once they are ingested as snapshots. */
  readonly toIngest: readonly DatedSubscription[];
};

export type DriftOptions = {
  readonly planSelection: PlanSelection;
  readonly names: ReadonlyMap<string | null, string>;
  readonly nowMs: number;
};

/**
 * Compares a team with the plan that follows from what Stripe lists; `null` when they agree. Pure.
 *
 * Stripe says when a subscription ended, but not when a live one changed. So if a live subscription differs
 * from what we know, it is dated to the listing, together with all other live subscriptions of the customer:
 * the ordering rule then picks one that grants a plan.
 */
export function driftOf(
  team: LinkedTeam,
  state: CustomerState,
  listed: readonly ListedSubscription[],
  { planSelection, names, nowMs }: DriftOptions,
): Drift | null {
  const known = decidingIn(state);
  if (known.size === 0 && listed.length === 0) return driftWithoutSubscription(team);
  const current = listed.filter(
    (subscription) =>
      effectOf(subscription.status) !== 'none' && !isOutdated(subscription, known, nowMs),
  );
  const differing = current.filter(
    (subscription) => !isKnown(subscription, known, names, team.plan),
  );
  const unchangedLive = differing.some(isAlive)
    ? current.filter((subscription) => isAlive(subscription) && !differing.includes(subscription))
    : [];
  const dated = datedByListing([...differing, ...unchangedLive], known);
  const ingested = dated.reduce(withListed, state);
  if (planWriterOf(team.plan, ingested) === 'app') return null;
  // A subscription that ended before we knew of it matters only if it decides the team's plan.
  const selectedId = selectedReport(ingested, planSelection)?.plan.providerSubscriptionId;
  const missed = differing.filter(
    ({ subscriptionId, status }) =>
      known.has(subscriptionId) || effectOf(status) === 'grants' || subscriptionId === selectedId,
  );

  const isByHand = missed.length === 0;
  const plan = teamPlan(isByHand ? state : ingested, planSelection, names);
  if (plan === null) return null;
  const named = { ...plan, planName: plan.planName ?? possibleName(team, plan) };
  const isRight = isPlanOf(team.plan, named);
  if (isByHand && isRight) return null;
  const shouldBe = isRight ? team.plan : partOf(named, team.plan);
  const deciding = missed.find(({ subscriptionId }) => subscriptionId === selectedId) ?? missed[0];
  return {
    team,
    shouldBe,
    cause: isByHand ? causeByHand(team.plan, shouldBe) : causeOf(missed, known),
    subscriptionIds: missed.map(({ subscriptionId }) => subscriptionId),
    sinceSeconds: deciding === undefined ? null : sinceOf(deciding, known),
    toIngest: isByHand
      ? []
      : dated.filter(({ listed }) => missed.includes(listed) || unchangedLive.includes(listed)),
  };
}

/** A plan of a subscription that neither Stripe nor an event knows: only the application can have written it. */
function driftWithoutSubscription(team: LinkedTeam): Drift | null {
  if (!team.plan.providerSubscriptionId) return null;
  const unknown = { subscriptionIds: [], sinceSeconds: null, toIngest: [] };
  return { team, shouldBe: partOf(NO_PLAN, team.plan), cause: 'no subscription', ...unknown };
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
 * Whether we know the subscription as it is listed, in the fields that the team's row can hold. Old API versions have a name
 * and no product.
 */
function isKnown(
  { subscriptionId, status, productId, planName, object }: ListedSubscription,
  known: Deciding,
  names: DriftOptions['names'],
  row: PlanInRow,
): boolean {
  const deciding = known.get(subscriptionId);
  if (deciding?.status !== status) return false;
  if (effectOf(status) !== 'grants') return true;
  const listed = reportedIn(object);
  const isRenewed = OTHER_FIELDS.some((name) => {
    return name in row && (listed?.[name] ?? null) !== (deciding.plan[name] ?? null);
  });
  if (isRenewed) return false;
  const { providerProductId, planName: knownName } = deciding.plan;
  if (providerProductId !== null) return providerProductId === productId;
  const name = planName ?? names.get(productId) ?? null;
  return name === null || knownName === null || knownName === name;
}

function isAlive({ status, endedSeconds }: ListedSubscription): boolean {
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

function causeOf(missed: readonly ListedSubscription[], known: Deciding): DriftCause {
  return missed.some(({ subscriptionId }) => known.has(subscriptionId))
    ? 'missed event'
    : 'never seen';
}

function sinceOf(
  { subscriptionId, endedSeconds, beganSeconds }: ListedSubscription,
  known: Deciding,
): number | null {
  return endedSeconds ?? known.get(subscriptionId)?.createdSeconds ?? beganSeconds;
}

export type DriftIssue = {
  readonly kind: 'drift';
  readonly teamId: ApplicationId;
  readonly customerId: string;
  readonly cause: DriftCause;
  /** The subscriptions that differ from what we know; none when the team was changed by hand. */
  readonly subscriptionIds: readonly string[];
  /** When the drift began at the earliest, in seconds since 1970; `null` when it is unknown. */
  readonly sinceSeconds: number | null;
  readonly is: PlanInRow;
  readonly shouldBe: PlanInRow;
  readonly isRepaired: boolean;
};

export type ReconciliationIssue =
  | DriftIssue
  /** A team has the right plan already, but an event of its customer was missed or never sent. */
  | {
      readonly kind: 'unrecorded';
      readonly teamId: ApplicationId;
      readonly customerId: string;
      readonly subscriptionIds: readonly string[];
    }
  /** A customer has a subscription that has not ended, and no team gets its plan. */
  | {
      readonly kind: 'customer without a team';
      readonly customerId: string;
      readonly statuses: readonly string[];
    }
  /** Stripe does not have the customer of a team. */
  | {
      readonly kind: 'unknown customer';
      readonly teamId: ApplicationId;
      readonly customerId: string;
    };

/** Whether the team has the right plan, so that only the log lacks something. */
export function hasRightPlan({ team, shouldBe }: Drift): boolean {
  return isSamePlan(team.plan, shouldBe);
}

export function reconciliationIssueOf(drift: Drift, isRepaired: boolean): ReconciliationIssue {
  const { team, toIngest: _, ...found } = drift;
  const { id: teamId, customerId, plan: is } = team;
  const { subscriptionIds } = found;
  if (hasRightPlan(drift)) return { kind: 'unrecorded', teamId, customerId, subscriptionIds };
  return { kind: 'drift', teamId, customerId, ...found, is, isRepaired };
}

export function foundIssueOf(drift: Drift, isRefused: boolean): FoundIssue {
  const { team, shouldBe, sinceSeconds } = drift;
  const { id: teamId, customerId, plan } = team;
  const cause = isRefused ? 'plan refused' : drift.cause;
  return { cause, teamId, customerId, plan, shouldBe, beganSeconds: sinceSeconds };
}

/** An issue about a customer rather than about the plan of a team. */
export function customerIssue(
  cause: Extract<IssueCause, 'unknown customer' | 'customer without a team'>,
  customerId: string,
  teamId: ApplicationId | null,
): FoundIssue {
  return { cause, teamId, customerId, plan: null, shouldBe: null, beganSeconds: null };
}
