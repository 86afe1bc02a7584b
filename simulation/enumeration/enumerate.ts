import { planSelectionOfRound } from '../core/core-level.ts';
import { runCoreCase, runCoreRound } from '../core/core-round.ts';
import { parseHistory } from '../core/customer-events.ts';
import type { Failure } from '../level.ts';
import type { Step } from '../lifecycle/delivery-schedule.ts';
import { renderHistory } from '../lifecycle/history.ts';
import type { CustomerLifecycle } from '../lifecycle/subscription.ts';
import { shrinkFailure } from '../shrink.ts';
import { allLifecycles, type TransitionSet } from './all-lifecycles.ts';
import { deliveryOrders } from './delivery-orders.ts';

type EnumerationOptions = {
  /** The number of events of a lifecycle. */
  readonly length: number;
  /** The number of deliveries in addition to the first one of each event. */
  readonly extra: number;
  readonly transitions: TransitionSet;
};

type Enumerated = {
  readonly lifecycles: number;
  readonly orders: number;
  readonly deliveries: number;
  readonly failure: Failure | null;
};

const FORMAT = { shape: 'classic', hasSharedIds: false, hasPreviousAttributes: true } as const;

/**
 * Delivers every lifecycle of this length in every order, and checks the team after each. The time of linking, the
 * application's changes to the team, the batches, the maintenance runs and TEAM_PLAN alternate.
 */
export async function enumerate(options: EnumerationOptions): Promise<Enumerated> {
  const { length, extra, transitions } = options;
  const allOrders = [...deliveryOrders(length, extra)];
  const sum = { lifecycles: 0, orders: 0, deliveries: 0 };
  for (const lifecycle of allLifecycles(length, transitions)) {
    const customer = { lifecycle, format: FORMAT };
    const events = parseHistory(renderHistory(lifecycle, FORMAT));
    const customers = new Map([[lifecycle.customerId, events]]);
    sum.lifecycles += 1;
    for (const order of allOrders) {
      const variant = sum.orders;
      const steps = stepsOf(lifecycle, order, variant);
      const planSelection = planSelectionOfRound(variant);
      const { divergences } = runCoreRound({ customers, steps, planSelection });
      sum.orders += 1;
      sum.deliveries += order.length;
      if (divergences.length > 0) {
        const found = { seed: 0, planSelection, divergences, customer, steps, isShrunk: false };
        return { ...sum, failure: await shrinkFailure(found, runCoreCase) };
      }
    }
  }
  return { ...sum, failure: null };
}

/** A snapshot is final only when its second is over. */
const LATER_MS = 60_000;

function stepsOf(lifecycle: CustomerLifecycle, order: readonly number[], variant: number): Step[] {
  const { customerId, changes } = lifecycle;
  const atMs = (changes.at(-1)?.atMs ?? 0) + LATER_MS;
  // The periods are co-prime, so every combination occurs.
  const linkedAfter = [0, 0, 1, 2, order.length][variant % 5] ?? 0;
  const isBatched = Math.floor(variant / 2) % 3 === 2;
  const maintenanceAfter = variant % 7;
  const applicationAfter = variant % 17;

  const link: Step = { kind: 'link', atMs, customerId };
  const maintenance: Step[] = [
    { kind: 'repair', atMs, isApiUp: true },
    { kind: 'request', atMs, isApiUp: true },
    { kind: 'receive', atMs },
  ];
  const applicationSteps: readonly Step[] = [
    { kind: 'relink', atMs, customerId, how: 'move' },
    { kind: 'relink', atMs, customerId, how: 'duplicate' },
    { kind: 'checkout', atMs, customerId, number: order[0] ?? 0, isNew: variant % 2 === 0 },
  ];
  const application = applicationSteps[variant % 13] ?? [];
  const steps = order.flatMap((number, index): Step[] => [
    ...(index === linkedAfter ? [link] : []),
    { kind: 'deliver', atMs, customerId, number, isBatched, isApiUp: variant % 11 > 2 },
    ...(index === applicationAfter ? [application].flat() : []),
    ...(index + 1 === maintenanceAfter ? maintenance : []),
  ]);
  return linkedAfter >= order.length ? [...steps, link] : steps;
}
