import type { ApplicationId } from 'instep-engine/postgres';
import { NO_PLAN, type PlanSelection } from 'instep-engine/rule';
import { makeSnapshot } from 'instep-engine/src/stripe/subscription-snapshot.ts';
import { changeOfRedirect, changesOf, checkoutRecord } from '../checkout.ts';
import { type Divergence, isSameTeam } from '../divergence.ts';
import {
  acceptableTeams,
  expectedLatest,
  expectedTeam,
  giftRecord,
  hasEffect,
  type TeamRecord,
  type TrueChange,
  withLast,
} from '../expected-team.ts';
import type { Step } from '../lifecycle/delivery-schedule.ts';
import { renderHistory, type TrueEvent } from '../lifecycle/history.ts';
import { PRODUCTS } from '../lifecycle/subscription.ts';
import type { RunCase } from '../shrink.ts';
import { type AmbiguousOrder, type Arrival, CoreStore } from './core-store.ts';
import {
  type CustomerEvents,
  hasUndatedEvents,
  parseHistory,
  SimulationBroken,
  toArrival,
} from './customer-events.ts';

type CoreRound = {
  readonly customers: ReadonlyMap<string, CustomerEvents>;
  readonly steps: readonly Step[];
  readonly planSelection: PlanSelection;
};

type RoundResult = {
  readonly divergences: readonly Divergence[];
  /** A digest of all outcomes in their order: equal for equal rounds. */
  readonly digest: number;
  /** The number of snapshots requested from the API. */
  readonly snapshots: number;
};

/** After this time the API is certain to return the end of a second. */
const SNAPSHOT_AFTER_MS = 2_000;

/** A newer event can supersede a snapshot, which is then requested again. */
const MAX_SNAPSHOT_ROUNDS = 10;

/** Delivers a schedule to the engine's decisions in memory, runs maintenance in between, and checks every team. */
export function runCoreRound(round: CoreRound): RoundResult {
  const { customers, steps, planSelection } = round;
  const store = new CoreStore(planSelection);
  const decided = new Map<string, Decided>();
  /** The keys of the events in the order of their first arrival. */
  const arrived = new Map<string, number>();
  /** The last plan that the application wrote into each team. */
  const written = new Map<ApplicationId, Written>();
  /** The completed checkouts of each customer, and when each was completed. */
  const completed = new Map<string, Map<TrueChange, number>>();
  const unfilled = new Set<string>();
  /** Counts the transactions, to record their order. */
  let now = 0;
  let requested: Arrival[] = [];
  let hasSnapshots = true;
  let digest = 0;
  let snapshots = 0;

  function ingest(arrivals: readonly Arrival[]): void {
    now += 1;
    for (const [index, outcome] of store.ingest(arrivals).entries()) {
      const key = arrivals[index]?.key ?? '';
      digest = (Math.imul(digest, 31) + (CODES[outcome] ?? 0)) | 0;
      if (!arrived.has(key)) arrived.set(key, arrived.size);
      if (outcome === 'duplicate' || outcome === 'parked') continue;
      decided.set(key, { times: (decided.get(key)?.times ?? 0) + 1, last: now });
    }
    recordDecided();
    for (const { subscription } of arrivals) {
      const { customerId } = subscription;
      const isEmpty = store.teamsOf(customerId).map(({ plan }) => plan.subscriptionStatus === null);
      if (isEmpty.includes(true) && store.hasState(customerId)) unfilled.add(customerId);
    }
  }

  function recordDecided(): void {
    for (const key of store.takeDecided()) {
      decided.set(key, { times: (decided.get(key)?.times ?? 0) + 1, last: now });
    }
  }

  /** Reads the keys of the log before the API's state, as maintenance does. */
  function requestSnapshots(atMs: number): Arrival[] {
    return store.ambiguous().flatMap((order): Arrival[] => {
      const { customerId, subscriptionId, createdSeconds } = order;
      if (atMs < (createdSeconds + 1) * 1_000 + SNAPSHOT_AFTER_MS) return [];
      const seenKeys = store.tieGroupKeysOf(order);
      const object = customers.get(customerId)?.history.stateAt(subscriptionId ?? '', atMs) ?? null;
      snapshots += 1;
      const nonce = () => `snapshot_${snapshots}`;
      const snapshot = makeSnapshot(object, {
        createdSeconds,
        seenKeys,
        takenAtMs: atMs,
        nonce,
      });
      if (snapshot === null) throw new SimulationBroken('a snapshot could not be read');
      return [toArrival(snapshot, atMs, nameOf(snapshot.subscription.productId))];
    });
  }

  function repair(isApiUp: boolean): void {
    now += 1;
    store.settle();
    recordDecided();
    if (isApiUp) store.learnNames(NAMES);
  }

  let batch: Arrival[] = [];
  for (const [index, step] of steps.entries()) {
    switch (step.kind) {
      case 'deliver': {
        const variants = customers.get(step.customerId)?.variants.get(step.number);
        if (variants === undefined) break;
        batch.push(step.isApiUp ? variants.named : variants.unnamed);
        const next = steps[index + 1];
        if (next?.kind === 'deliver' && next.isBatched) break;
        ingest(batch);
        batch = [];
        break;
      }
      case 'link':
        store.link(step.customerId);
        break;
      case 'relink':
        store.relink(step.customerId, step.how);
        break;
      case 'checkout': {
        const event = customers
          .get(step.customerId)
          ?.history.events.find(({ number }) => number === step.number);
        if (event === undefined) break;
        now += 1;
        const record = checkoutRecord(event, step.isNew);
        written.set(store.write(step.customerId, record), { record, at: now });
        break;
      }
      case 'redirect': {
        const history = customers.get(step.customerId)?.history;
        const change = hasSnapshots && history ? changeOfRedirect(history, step) : null;
        if (!history || change === null) break;
        const { createdSeconds, subscriptionId } = change;
        const made = makeSnapshot(history.stateAt(subscriptionId, step.atMs), {
          ...{ createdSeconds, seenKeys: null, takenAtMs: step.atMs },
          nonce: () => `redirect_${step.atMs}`,
        });
        if (made === null) throw new SimulationBroken('a checkout could not be read');
        store.link(step.customerId);
        ingest([toArrival(made, step.atMs, nameOf(made.subscription.productId))]);
        completed.set(step.customerId, new Map(completed.get(step.customerId)).set(change, now));
        break;
      }
      case 'gift': {
        now += 1;
        const record = giftRecord(step.hasProduct);
        written.set(store.write(step.customerId, record), { record, at: now });
        break;
      }
      case 'repair':
        repair(step.isApiUp);
        break;
      case 'request':
        if (step.isApiUp && hasSnapshots) requested = requestSnapshots(step.atMs);
        break;
      case 'end-snapshots':
        hasSnapshots = false;
        break;
      case 'receive':
        if (requested.length > 0) ingest(requested);
        requested = [];
        break;
    }
  }
  if (batch.length > 0) ingest(batch);

  repair(true);
  const maxRounds = hasSnapshots ? MAX_SNAPSHOT_ROUNDS : 0;
  for (let round = 0; round < maxRounds && store.ambiguous().length > 0; round += 1) {
    ingest(requestSnapshots(END_OF_TIME_MS));
  }
  const ambiguous = store.ambiguous();
  const divergences = [...customers.values()].flatMap((customer) =>
    checkCustomer(customer, {
      ...{ store, decided, arrived, written, completed, unfilled, planSelection },
      ambiguous: ambiguous.filter(({ customerId }) => customerId === customer.history.customerId),
    }),
  );
  const undecidable = new Set(ambiguous.map(({ customerId }) => customerId));
  // Only its arrival decides when an event without `created` happened.
  const undated = new Set(
    [...customers].flatMap(([id, events]) => (hasUndatedEvents(events) ? [id] : [])),
  );
  const isExcused = ({ kind, customerId }: Divergence) =>
    ((kind === 'team' || kind === 'latest') && undated.has(customerId)) ||
    (kind === 'ambiguous' && undated.has(customerId) && !hasSnapshots) ||
    // Without Stripe's answer, the order stays ambiguous, and with it which event without an effect came last.
    (!hasSnapshots && undecidable.has(customerId) && (kind === 'ambiguous' || kind === 'latest'));
  const unexcused = divergences.filter((found) => !isExcused(found));
  return { divergences: unexcused, digest, snapshots };
}

const END_OF_TIME_MS = Number.MAX_SAFE_INTEGER;

const NAMES: readonly (readonly [string, string])[] = PRODUCTS.map(({ id, name }) => [id, name]);

const CODES: Readonly<Record<string, number>> = {
  applied: 1,
  stale: 2,
  unchanged: 3,
  parked: 4,
  duplicate: 5,
  unreadable: 6,
};

function nameOf(productId: string | null): string | null {
  return PRODUCTS.find(({ id }) => id === productId)?.name ?? null;
}

/** How often an event was decided, and when it was last decided. */
type Decided = { readonly times: number; readonly last: number };
type Written = { readonly record: TeamRecord; readonly at: number };

type CheckedRound = {
  readonly store: CoreStore;
  readonly decided: ReadonlyMap<string, Decided>;
  readonly arrived: ReadonlyMap<string, number>;
  readonly ambiguous: readonly AmbiguousOrder[];
  readonly written: ReadonlyMap<ApplicationId, Written>;
  readonly completed: ReadonlyMap<string, ReadonlyMap<TrueChange, number>>;
  readonly unfilled: ReadonlySet<string>;
  readonly planSelection: PlanSelection;
};

function checkCustomer(customer: CustomerEvents, round: CheckedRound): Divergence[] {
  const { history, variants } = customer;
  const { store, decided, written, completed, unfilled, planSelection } = round;
  const { customerId } = history;
  const checkouts = completed.get(customerId) ?? new Map<TrueChange, number>();
  const changes = withLastArrivals(changesOf(history, [...checkouts.keys()]), customer, round);
  const divergences: Divergence[] = [];
  const decidedOf = (number: number) => decided.get(variants.get(number)?.named.key ?? '');
  const numbers = new Map<TrueChange, number>(history.events.map((one) => [one, one.number]));
  const decidedAt = (change: TrueChange) => decidedOf(numbers.get(change) ?? -1)?.last ?? 0;
  const teams = store.teamsOf(customerId);
  if (teams.length === 0) {
    const expected = [expectedTeam(changes, planSelection)];
    divergences.push({ kind: 'team', customerId, expected, actual: null });
  }
  for (const { id, plan } of teams) {
    const actual = { ...NO_PLAN, ...plan };
    const own = written.get(id);
    const isLater = (change: TrueChange) =>
      (checkouts.get(change) ?? decidedAt(change)) > (own?.at ?? 0);
    const expected =
      own === undefined
        ? [expectedTeam(changes, planSelection)]
        : acceptableTeams(changes, planSelection, own.record, isLater);
    if (!expected.some((one) => isSameTeam(one, actual))) {
      divergences.push({ kind: 'team', customerId, expected, actual });
    }
  }
  if (unfilled.has(customerId)) divergences.push({ kind: 'not filled', customerId });
  for (const number of variants.keys()) {
    const times = decidedOf(number)?.times ?? 0;
    if (times !== 1) divergences.push({ kind: 'count', customerId, number, times });
  }
  const expected = expectedLatest(changes);
  const actual = store.latestOf(customerId);
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    divergences.push({ kind: 'latest', customerId, expected, actual });
  }
  if (store.isReplayedDifferently(customerId)) divergences.push({ kind: 'replayed', customerId });
  if (store.hasParked(customerId)) divergences.push({ kind: 'parked', customerId });
  if (store.hasAmbiguous(customerId)) divergences.push({ kind: 'ambiguous', customerId });
  return divergences;
}

/** Without Stripe's answer, the last arrival of an ambiguous second counts as its last event. */
function withLastArrivals(
  changes: readonly TrueChange[],
  { history, variants }: CustomerEvents,
  { ambiguous, arrived }: CheckedRound,
): readonly TrueChange[] {
  const arrivalOf = ({ number }: TrueEvent) =>
    arrived.get(variants.get(number)?.named.key ?? '') ?? -1;
  return ambiguous.reduce((ordered, { subscriptionId, createdSeconds }) => {
    const [last] = history.events
      .filter(
        (one) => one.subscriptionId === subscriptionId && one.createdSeconds === createdSeconds,
      )
      .filter(({ status }) => hasEffect(status))
      .sort((a, b) => arrivalOf(b) - arrivalOf(a));
    return last === undefined ? ordered : withLast(ordered, last);
  }, changes);
}

export const runCoreCase: RunCase = async ({ customer, steps, planSelection }) => {
  const events = parseHistory(renderHistory(customer.lifecycle, customer.format));
  const customers = new Map([[customer.lifecycle.customerId, events]]);
  return runCoreRound({ customers, steps, planSelection }).divergences;
};
