import { durationOf } from '../../duration.ts';
import type { WalkState } from '../../store/walks.ts';
import { Facts } from '../components/facts.tsx';
import { countText, MOST_PARKED, type Standing } from './concerns.ts';

/** How things stand, whether or not somebody has to do something about it. */
export function StandingFacts({
  standing,
  nowMs,
}: {
  readonly standing: Standing;
  readonly nowMs: number;
}) {
  const { outOfStep, troubles, catchUp, reconciled } = standing;
  const ago = (ms: number | null) => (ms === null ? 'never' : `${durationOf(nowMs - ms)} ago`);
  const { drifts = 0, mended = 0 } = reconciled?.counts ?? {};
  return (
    <Facts
      facts={[
        ['Last event', ago(troubles.lastReceivedMs)],
        [
          'Parked events',
          <a href="/events?outcome=parked">{countText(outOfStep.parkedEvents, MOST_PARKED)}</a>,
        ],
        ['Open ties', countText(outOfStep.ties)],
        ['Products without a name', countText(outOfStep.namelessProducts)],
        ['Caught up', walkText(catchUp, ago)],
        [
          'Reconciled',
          reconciled === null ? (
            <a href="/reconcile">never</a>
          ) : (
            <a href="/reconcile">
              {`${ago(reconciled.beganAtMs)}: ${countText(drifts)} teams differed, ${countText(mended)} mended`}
            </a>
          ),
        ],
      ]}
    />
  );
}

function walkText(walk: WalkState | null, ago: (ms: number | null) => string): string {
  if (walk === null || walk.beganAtMs === null) return 'never';
  return walk.endedAtMs === null ? `under way, begun ${ago(walk.beganAtMs)}` : ago(walk.endedAtMs);
}
