import type { HistoryEntry, TeamPlan } from 'instep/operate';
import { effectOf } from '../components/badges.tsx';
import { differingFields } from '../components/plan-table.tsx';

/** The layout of a customer's history, in pixels from the top left. */
type Timeline = {
  readonly width: number;
  readonly height: number;
  readonly lanes: readonly Lane[];
  readonly bars: readonly Bar[];
  readonly barsTop: number;
  readonly ticks: readonly { readonly x: number; readonly atMs: number }[];
  /** The end of lanes and bars: now, or before the first of the newer events. */
  readonly end: number;
};

export type Lane = {
  /** `null` for events without a subscription id. */
  readonly subscriptionId: string | null;
  readonly y: number;
  readonly marks: readonly Mark[];
};

export type Mark = { readonly x: number; readonly entry: HistoryEntry };

/** A period in which the team had this plan, or none. */
export type Bar = { readonly x: number; readonly width: number; readonly plan: TeamPlan | null };

const WIDTH = 1_200;
const EDGE = 16;
/** The minimum distance between two marks. */
const GAP = 18;
const LANE_HEIGHT = 44;
const BAR_SPACE = 36;
const TICK_SPACE = 28;
/** A date with its time, in any usual font. */
export const TICK_WIDTH = 190;
/** Space for the last plan and the label of the end, after the last event. */
const AFTERWARD = TICK_WIDTH + 60;

/** Lays out events by Stripe's clock: a lane per subscription, and the team's plans below. Pure. */
export function layOutTimeline(entries: readonly HistoryEntry[]): Timeline {
  const ordered = entries.toSorted(
    (one, other) => one.subscription.createdSeconds - other.subscription.createdSeconds,
  );
  const positions = positionsOf(ordered.map(({ subscription }) => subscription.createdSeconds));
  const marks = ordered.map((entry, index) => ({ entry, x: positions[index] ?? EDGE }));
  const end = Math.max(WIDTH - EDGE, (positions.at(-1) ?? 0) + AFTERWARD);
  const subscriptionIds = new Set(ordered.map(({ subscription }) => subscription.subscriptionId));
  const lanes = [...subscriptionIds].map((subscriptionId, index) => ({
    subscriptionId,
    y: (index + 1) * LANE_HEIGHT - 8,
    marks: marks.filter(({ entry }) => entry.subscription.subscriptionId === subscriptionId),
  }));
  const barsTop = lanes.length * LANE_HEIGHT + 12;
  const xs = new Map(marks.map(({ entry, x }) => [entry, x]));
  return {
    width: end + EDGE,
    height: barsTop + BAR_SPACE + TICK_SPACE,
    lanes,
    bars: barsOf(entries, xs, end),
    barsTop,
    ticks: ticksOf(marks),
    end,
  };
}

/** Proportional to the times, but at least `GAP` apart. */
function positionsOf(seconds: readonly number[]): number[] {
  const first = seconds[0] ?? 0;
  const span = Math.max(1, (seconds.at(-1) ?? 0) - first);
  const room = WIDTH - 2 * EDGE - AFTERWARD;
  const spare = Math.max(0, room - GAP * (seconds.length - 1));
  return seconds.map((at, index) => Math.round(EDGE + index * GAP + (spare * (at - first)) / span));
}

/** The team's plans, each from the event that gave or cleared it. */
function barsOf(
  entries: readonly HistoryEntry[],
  xs: ReadonlyMap<HistoryEntry, number>,
  end: number,
): Bar[] {
  const changes: { x: number; plan: TeamPlan | null }[] = [];
  for (const entry of entries) {
    const x = Math.max(xs.get(entry) ?? EDGE, changes.at(-1)?.x ?? EDGE);
    if (entry.plans === null || entry.event.outcome !== 'applied') continue;
    if (changes.length === 0) changes.push({ x: EDGE, plan: entry.plans.before });
    const isChanged = differingFields(changes.at(-1)?.plan ?? null, entry.plans.after).length > 0;
    if (isChanged) changes.push({ x, plan: entry.plans.after });
  }
  return changes.map(({ x, plan }, index) => ({
    x,
    width: (changes[index + 1]?.x ?? end) - x,
    plan,
  }));
}

/** The times of marks that have space for their labels. */
function ticksOf(marks: readonly Mark[]): { x: number; atMs: number }[] {
  const ticks: { x: number; atMs: number }[] = [];
  for (const { x, entry } of marks) {
    if (x - (ticks.at(-1)?.x ?? -TICK_WIDTH) < TICK_WIDTH) continue;
    ticks.push({ x, atMs: entry.subscription.createdSeconds * 1_000 });
  }
  return ticks;
}

/** A plan's name where space is short. */
export function shortPlan(plan: TeamPlan | null): string {
  if (plan === null || plan.subscriptionStatus === null) return 'no plan yet';
  if (effectOf(plan.subscriptionStatus) !== 'grants') return `no plan (${plan.subscriptionStatus})`;
  const name = plan.planName ?? plan.providerProductId ?? 'unnamed plan';
  return plan.subscriptionStatus === 'active' ? name : `${name} (${plan.subscriptionStatus})`;
}
