import { keysOfSameSecond } from '../../src/core/event-key.ts';
import type { PlanSelection } from '../../src/core/plan-selection.ts';
import { makeSnapshot } from '../../src/stripe/subscription-snapshot.ts';
import type { Step } from '../../src/testing/lifecycle/delivery-schedule.ts';
import { PRODUCTS } from '../../src/testing/lifecycle/subscription.ts';
import { auditTeam } from '../auditor.ts';
import { type Divergence, isSameTeam } from '../divergence.ts';
import { type Audience, SimulationBroken } from './customer-events.ts';
import { type Arrival, MemoryStore } from './memory-store.ts';

export type CoreRound = {
  readonly audiences: ReadonlyMap<string, Audience>;
  readonly steps: readonly Step[];
  readonly planSelection: PlanSelection;
};

export type RoundEnd = {
  readonly divergences: readonly Divergence[];
  /** The same for the same round: of all outcomes in their order. */
  readonly digest: number;
  /** How many questions the API was asked. */
  readonly looks: number;
};

/** The API has shown a second's end for sure only a while after it. */
const LOOK_AFTER_MS = 2_000;

/** A look may be overtaken and asked for again, but not for ever. */
const MAX_TURNS = 10;

/** Delivers a schedule to the pure core, has the keeper take its turns, and audits every team. */
export function runCoreRound({ audiences, steps, planSelection }: CoreRound): RoundEnd {
  const store = new MemoryStore(planSelection);
  const decided = new Map<Arrival['event']['key'], number>();
  let asked: Arrival[] = [];
  let digest = 0;
  let looks = 0;

  function ingest(arrivals: readonly Arrival[]): void {
    const results = store.ingest(arrivals);
    for (const [index, { outcome }] of results.entries()) {
      const event = arrivals[index]?.event;
      digest = (Math.imul(digest, 31) + (CODES[outcome] ?? 0)) | 0;
      const isDecided = outcome !== 'duplicate' && outcome !== 'parked';
      if (event === undefined || event.kind !== 'readable' || !isDecided) continue;
      decided.set(event.key, (decided.get(event.key) ?? 0) + 1);
    }
  }

  /** The keeper reads its marks and the observed keys first, and then what the API shows. */
  function ask(atMs: number): Arrival[] {
    return store.marked().flatMap((state): Arrival[] => {
      const { customerId, subscriptionId, createdSeconds } = state.newest;
      if (atMs < (createdSeconds + 1) * 1_000 + LOOK_AFTER_MS) return [];
      const observedKeys = store.keysOfSecond(state);
      const shown = audiences.get(customerId)?.history.view(subscriptionId ?? '', atMs) ?? null;
      looks += 1;
      const nonce = () => `look_${looks}`;
      const look = makeSnapshot(shown, { createdSeconds, observedKeys, takenAtMs: atMs, nonce });
      if (look === null) throw new SimulationBroken('the API has shown nothing that can be read');
      const { event, body } = look;
      const { key, subscription, after, previousAttributes, isDeletion, isSnapshot } = event;
      const readBack = {
        key,
        subscription: { ...subscription },
        after,
        previousAttributes,
        isDeletion,
        isSnapshot,
      };
      const productName = nameOf(subscription.productId);
      const received = { body, receivedAtMs: atMs, source: 'delivery', productName } as const;
      return [
        { event: { ...event, ...received }, readBack, second: keysOfSameSecond(event.key).low },
      ];
    });
  }

  function repair(hasApi: boolean): void {
    const parked = store.parked();
    if (parked.length > 0) ingest(parked);
    if (hasApi) store.learnNames(NAMES);
  }

  let batch: Arrival[] = [];
  for (const [index, step] of steps.entries()) {
    switch (step.kind) {
      case 'deliver': {
        const arrivals = audiences.get(step.customerId)?.arrivals.get(step.number);
        if (arrivals === undefined) break;
        batch.push(step.hasApi ? arrivals.named : arrivals.nameless);
        const next = steps[index + 1];
        if (next?.kind === 'deliver' && next.isTogether) break;
        ingest(batch);
        batch = [];
        break;
      }
      case 'link':
        store.link(step.customerId);
        break;
      case 'repair':
        repair(step.hasApi);
        break;
      case 'ask':
        if (step.hasApi) asked = ask(step.atMs);
        break;
      case 'answer':
        if (asked.length > 0) ingest(asked);
        asked = [];
        break;
    }
  }
  if (batch.length > 0) ingest(batch);

  repair(true);
  for (let turn = 0; turn < MAX_TURNS && store.marked().length > 0; turn += 1) {
    ingest(ask(END_OF_TIME_MS));
  }
  const divergences = [...audiences.values()].flatMap((audience) =>
    audit(audience, store, decided, planSelection),
  );
  return { divergences, digest, looks };
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

function audit(
  { history, arrivals }: Audience,
  store: MemoryStore,
  decided: ReadonlyMap<string, number>,
  planSelection: PlanSelection,
): Divergence[] {
  const { customerId, events } = history;
  const divergences: Divergence[] = [];
  const expected = auditTeam(events, planSelection);
  const actual = store.planOf(customerId);
  if (!isSameTeam(expected, actual)) {
    divergences.push({ kind: 'team', customerId, expected, actual });
  }
  for (const [number, { named }] of arrivals) {
    const times = decided.get(named.event.key) ?? 0;
    if (times !== 1) divergences.push({ kind: 'count', customerId, number, times });
  }
  if (store.hasParked(customerId)) divergences.push({ kind: 'parked', customerId });
  if (store.hasMarked(customerId)) divergences.push({ kind: 'marked', customerId });
  return divergences;
}
