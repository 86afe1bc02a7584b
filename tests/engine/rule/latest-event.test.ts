import fc from 'fast-check';
import {
  fold,
  foldAll,
  KnownEvents,
  planAfter,
  reportedBy,
  type SubscriptionEvent,
} from 'instep-engine/rule';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../support/events.ts';
import { permutations } from '../support/permutations.ts';
import { changes, event, snapshot, undated } from '../support/tie-groups.ts';

/** What is stored of the subscription after these events, in this order of arrival. */
const storedAfter = (arrived: readonly SubscriptionEvent[]) =>
  foldAll(arrived).subscriptions.get('sub_1');

const latestAfter = (arrived: readonly SubscriptionEvent[]) =>
  storedAfter(arrived)?.latest.reported;

const statuses = fc.constantFrom('active', 'trialing', 'canceled', 'past_due', 'incomplete');

/** An event of one second that can contradict others. */
const anyEvent = fc
  .record({
    status: statuses,
    product: fc.constantFrom('a', 'b'),
    cancel_at: fc.constantFrom(null, 7),
    replaced: fc.option(fc.record({ status: statuses })),
  })
  .map(({ replaced, ...object }) => event(object, replaced));

describe('of one second', () => {
  test('the latest event is at the end of the path, in any order of arrival', () => {
    fc.assert(
      fc.property(fc.array(statuses, { minLength: 1, maxLength: 4 }), (lived) => {
        const events = changes(lived.map((status, invoice) => ({ status, invoice })));
        const last = events.map(reportedBy).at(-1);
        for (const arrived of permutations(events)) expect(latestAfter(arrived)).toBe(last);
      }),
    );
  });

  test('if the plan is known, the arrival decides neither it nor the latest event', () => {
    const group = fc.uniqueArray(anyEvent, {
      selector: (one) => JSON.stringify([one.object, one.previousAttributes]),
      minLength: 1,
      maxLength: 3,
    });
    const shown = fc.option(fc.record({ status: statuses, product: fc.constant('a') }));
    fc.assert(
      fc.property(group, shown, (events, object) => {
        const all = object === null ? events : [...events, snapshot(object)];
        const [first, ...others] = permutations(all).map((arrived) => {
          const { deciding, latest } = storedAfter(arrived) ?? {};
          if (deciding?.isAmbiguous) return 'ambiguous';
          return [deciding && planAfter(deciding.reported.plan), latest];
        });
        for (const other of others) expect(other).toEqual(first);
      }),
      { numRuns: 300 },
    );
  });

  test('an event without an effect comes after the deciding one if it can', () => {
    const pause = event({ status: 'unpaid' }, { status: 'active' });
    const resume = event({ status: 'active' }, { status: 'unpaid' });
    for (const arrived of permutations([pause, resume])) {
      expect(latestAfter(arrived)).toBe(reportedBy(arrived[1] ?? pause));
    }
    const trial = event({ status: 'trialing' });
    const shown = snapshot({ status: 'past_due' });
    for (const [due, last] of [
      [event({ status: 'past_due' }), trial],
      [shown, shown],
    ] as const) {
      for (const arrived of permutations([trial, due])) {
        expect(latestAfter(arrived)).toBe(reportedBy(last));
      }
    }
  });

  test('an undated event is the latest one when it arrives, and shows nothing about the others', () => {
    const end = undated({ status: 'canceled' });
    const paid = event({ status: 'active' }, { status: 'trialing' });
    const due = event({ status: 'past_due' }, { status: 'active' });
    for (const arrived of permutations([paid, due])) {
      expect(storedAfter([end, ...arrived])).toMatchObject({
        deciding: { reported: reportedBy(paid), isAmbiguous: false },
        latest: { reported: reportedBy(due) },
      });
      expect(latestAfter([...arrived, end])).toBe(reportedBy(end));
      expect(latestAfter([...arrived, end, event({ status: 'paused' })])?.status).toBe('past_due');
    }
  });
});

test('an event shows the same if the log no longer has its neighbors', () => {
  const [began, latest] = [eventOf({ createdSeconds: 20 }), eventOf({ createdSeconds: 30 })];
  const since = (createdSeconds: number, status: string, ...left: SubscriptionEvent[]) => {
    const late = eventOf({ createdSeconds, status });
    const { state } = fold(foldAll([began, latest]), late, new KnownEvents(left), 'newest');
    const found = state.subscriptions.get('sub_1')?.latest;
    return [found?.sinceSeconds, found?.otherStatusSeconds];
  };
  expect(since(30, 'past_due')).toEqual([30, 30]);
  expect(since(30, 'active')).toEqual([20, null]);
  expect(since(10, 'past_due', latest)).toEqual([20, 10]);
  expect(since(25, 'past_due', began, latest)).toEqual([30, 25]);
  expect(since(25, 'past_due')).toEqual([20, 25]);
});
