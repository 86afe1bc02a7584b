import type { Progress } from '../../../maintenance/reconcile/progress.ts';
import { MAX_COUNTED_PARKED } from '../../../queries/health.ts';
import type { LeasedJobState } from '../../../queries/leased-jobs.ts';
import { durationOf } from '../../../runtime/duration.ts';
import { Facts } from '../components/facts.tsx';
import { countText, type Standing } from './issues.ts';

/** How things stand, whether or not somebody has to do something about it. */
export function StandingFacts({
  standing,
  nowMs,
}: {
  readonly standing: Standing;
  readonly nowMs: number;
}) {
  const { health, catchUp, reconciled } = standing;
  const ago = (ms: number | null) => (ms === null ? 'never' : `${durationOf(nowMs - ms)} ago`);
  return (
    <Facts
      facts={[
        ['Last event', ago(health.lastReceivedMs)],
        [
          'Parked events',
          <a id="parked-events" href="/events?outcome=parked">
            {countText(health.parkedEvents, MAX_COUNTED_PARKED)}
          </a>,
        ],
        ['Open ties', countText(health.ambiguousSubscriptions)],
        ['Products without a name', countText(health.namelessProducts)],
        ['Caught up', walkText(catchUp, ago)],
        [
          'Reconciled',
          <a id="reconciled" href="/reconcile">
            {reconciled === null ? 'never' : reconciledText(reconciled, ago)}
          </a>,
        ],
      ]}
    />
  );
}

type Ago = (ms: number | null) => string;

function reconciledText({ beganAtMs, counts: { drifts, repaired } }: Progress, ago: Ago): string {
  return `${ago(beganAtMs)}: ${countText(drifts)} teams differed, ${countText(repaired)} repaired`;
}

function walkText(walk: LeasedJobState | null, ago: Ago): string {
  if (walk === null || walk.startedAtMs === null) return 'never';
  return walk.endedAtMs === null
    ? `under way, begun ${ago(walk.startedAtMs)}`
    : ago(walk.endedAtMs);
}
