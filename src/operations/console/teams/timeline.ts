import { effectOf, isSamePlan, type TeamPlan } from '../../../core/transition.ts';
import type { HistoryEntry } from '../../../event-log/explain-history.ts';

/** A customer's history as it is drawn: lengths in pixels, from the left and from the top. */
export type TimeLine = {
  readonly width: number;
  readonly height: number;
  readonly lanes: readonly Lane[];
  readonly bars: readonly Bar[];
  readonly barsTop: number;
  readonly ticks: readonly { readonly x: number; readonly atMs: number }[];
};

export type Lane = {
  /** `null` for events that name no subscription. */
  readonly subscriptionId: string | null;
  readonly y: number;
  readonly marks: readonly Mark[];
};

export type Mark = { readonly x: number; readonly entry: HistoryEntry };

/** For so long the team had this plan, or none. */
export type Bar = { readonly x: number; readonly width: number; readonly plan: TeamPlan | null };

const WIDTH = 1_060;
const EDGE = 16;
/** Two marks are this far apart at least, however soon one came after the other. */
const GAP = 18;
const LANE_HEIGHT = 44;
const BAR_SPACE = 36;
const TICK_SPACE = 28;
const TICK_GAP = 150;
/** The last plan goes on beyond the last event. */
const AFTERWARDS = 150;

/**
 * Draws the newest events of a customer by Stripe's clock: a lane for each subscription, and the
 * team's plans beneath. Pure.
 */
export function drawTimeLine(entries: readonly HistoryEntry[]): TimeLine {
  const inTime = entries.toSorted(
    (one, other) => one.subscription.createdSeconds - other.subscription.createdSeconds,
  );
  const places = placesInTime(inTime.map(({ subscription }) => subscription.createdSeconds));
  const xs = new Map(inTime.map((entry, index) => [entry, places[index] ?? EDGE]));
  const width = Math.max(WIDTH, (places.at(-1) ?? 0) + AFTERWARDS + EDGE);

  const subscriptionIds = new Set(inTime.map(({ subscription }) => subscription.subscriptionId));
  const lanes = [...subscriptionIds].map((subscriptionId, index) => ({
    subscriptionId,
    y: (index + 1) * LANE_HEIGHT - 8,
    marks: inTime
      .filter(({ subscription }) => subscription.subscriptionId === subscriptionId)
      .map((entry) => ({ entry, x: xs.get(entry) ?? EDGE })),
  }));
  const barsTop = lanes.length * LANE_HEIGHT + 12;
  return {
    width,
    height: barsTop + BAR_SPACE + TICK_SPACE,
    lanes,
    bars: barsOf(entries, xs, width - EDGE),
    barsTop,
    ticks: ticksOf(inTime, xs),
  };
}

/** As far from each other as the times are, but for the least distance that all of them have. */
function placesInTime(seconds: readonly number[]): number[] {
  const first = seconds[0] ?? 0;
  const span = Math.max(1, (seconds.at(-1) ?? 0) - first);
  const room = WIDTH - 2 * EDGE - AFTERWARDS;
  const stretch = Math.max(0, room - GAP * (seconds.length - 1));
  return seconds.map((at, index) =>
    Math.round(EDGE + index * GAP + (stretch * (at - first)) / span),
  );
}

/** The plans one after the other, each from the event that gave or took it. */
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
    const isSame = isSamePlan(changes.at(-1)?.plan ?? null, entry.plans.after);
    if (!isSame) changes.push({ x, plan: entry.plans.after });
  }
  return changes.map(({ x, plan }, index) => ({
    x,
    width: (changes[index + 1]?.x ?? end) - x,
    plan,
  }));
}

/** Times to read, not closer to each other than they can be read. */
function ticksOf(
  inTime: readonly HistoryEntry[],
  xs: ReadonlyMap<HistoryEntry, number>,
): { x: number; atMs: number }[] {
  const ticks: { x: number; atMs: number }[] = [];
  for (const entry of inTime) {
    const x = xs.get(entry) ?? EDGE;
    const last = ticks.at(-1);
    if (last !== undefined && x - last.x < TICK_GAP) continue;
    ticks.push({ x, atMs: entry.subscription.createdSeconds * 1_000 });
  }
  return ticks;
}

/** What a plan is called where there is little room. */
export function shortPlan(plan: TeamPlan | null): string {
  if (plan === null || plan.subscriptionStatus === null) return 'no plan yet';
  if (effectOf(plan.subscriptionStatus) !== 'grants') return `none: ${plan.subscriptionStatus}`;
  const name = plan.planName ?? plan.providerProductId ?? 'a plan without a name';
  return plan.subscriptionStatus === 'active' ? name : `${name} (${plan.subscriptionStatus})`;
}
