import { EventHistory } from 'instep/src/core/event-history.ts';
import { decideEvent } from 'instep/src/core/ordering-rule.ts';
import { type DecidingEvents, NO_DECIDING_EVENTS } from 'instep/src/core/plan-selection.ts';
import type { ParsedEvent } from 'instep/src/core/subscription-event.ts';
import { describe, expect, test } from 'vitest';
import { deletion, event, lastOf, permutations, snapshot } from './subscription-changes.ts';

/** The change from one status to another, `second` seconds after the start. */
function change(from: string, to: string, second = 10): ParsedEvent {
  const base = event({ status: to }, { status: from });
  return { ...base, subscription: { ...base.subscription, createdSeconds: second } };
}

const failed = change('active', 'unpaid');
const paid = change('unpaid', 'active');
const cycle = [failed, paid];

describe.each(permutations(cycle).map((events) => ({ events })))('a cycle', ({ events }) => {
  test('is ambiguous on its own', () => {
    expect(lastOf(events)).toEqual({ subscription: events[1]?.subscription, order: 'ambiguous' });
  });

  test('starts where the earlier second ended', () => {
    const toActive = [[change('trialing', 'active', 9)]];
    const toUnpaid = [[change('past_due', 'unpaid', 9)]];
    const inferred = (last: ParsedEvent) => ({
      subscription: last.subscription,
      order: 'inferred',
    });
    expect(lastOf(events, { earlier: toActive })).toEqual(inferred(paid));
    expect(lastOf(events, { earlier: toUnpaid })).toEqual(inferred(failed));
  });

  test('ends where the next second starts', () => {
    const fromActive = [change('active', 'past_due', 11)];
    const fromUnpaid = [change('unpaid', 'incomplete', 11)];
    expect(lastOf(events, { next: fromActive })?.subscription).toBe(paid.subscription);
    expect(lastOf(events, { next: fromUnpaid })?.subscription).toBe(failed.subscription);
  });

  test('follows any number of earlier cycles', () => {
    const again = (second: number) => [
      change('unpaid', 'active', second),
      change('active', 'unpaid', second),
    ];
    const earlier = [[change('trialing', 'active', 6)], again(7), again(8), again(9)];
    expect(lastOf(events, { earlier })).toMatchObject({
      subscription: paid.subscription,
      order: 'inferred',
    });
  });

  test('starts at any end of an ambiguous earlier second', () => {
    const trial = [change('active', 'trialing'), change('trialing', 'active')];
    for (const arrived of permutations(trial)) {
      const { subscription, order } = lastOf(arrived, { earlier: [events] }) ?? {};
      expect({ subscription, order }).toEqual({
        subscription: trial[1]?.subscription,
        order: 'inferred',
      });
    }
  });

  test('stays ambiguous when the neighbors do not fit, because an event is missing', () => {
    const earlier = [[change('active', 'trialing', 9)]];
    expect(lastOf(events, { earlier })?.order).toBe('ambiguous');
    expect(lastOf(events, { next: [change('trialing', 'past_due', 11)] })?.order).toBe('ambiguous');
    const afterGap = [[change('active', 'canceled', 8)], [change('trialing', 'active', 9)]];
    expect(lastOf(events, { earlier: afterGap })?.subscription).toBe(paid.subscription);
  });

  test('is not decided by a snapshot among its neighbors', () => {
    expect(lastOf(events, { earlier: [[snapshot({ status: 'active' })]] })?.order).toBe(
      'ambiguous',
    );
    expect(lastOf(events, { next: [snapshot({ status: 'past_due' })] })?.order).toBe('ambiguous');
  });
});

test('events of one second that have a single order need no neighbors', () => {
  const ended = deletion({ status: 'canceled' });
  const events = [change('trialing', 'active'), change('active', 'unpaid'), ended];
  const earlier = [[change('active', 'trialing', 9)]];
  expect(lastOf(events, { earlier })).toEqual(lastOf(events));
});

describe('a customer with a cycle', () => {
  const before = change('trialing', 'active', 9);
  const after = change('active', 'past_due', 11);

  function ordersOf(events: readonly ParsedEvent[]) {
    const history = new EventHistory();
    let customer: DecidingEvents = NO_DECIDING_EVENTS;
    const outcomes = events.map((arrived) => {
      history.add(arrived);
      const step = decideEvent(customer, arrived, history, 'newest');
      customer = step.decidingEvents;
      return step.outcome;
    });
    return { state: customer.get('sub_1'), outcomes };
  }

  test.each(permutations([before, failed, paid, after]).map((events) => ({ events })))(
    'ends with the true last event in every order of arrival: $events',
    ({ events }) => {
      const { subscription, order } = ordersOf(events).state ?? {};
      expect({ subscription, order }).toEqual({
        subscription: paid.subscription,
        order: 'inferred',
      });
    },
  );

  test('is decided again by a late neighbor, which counts as applied', () => {
    expect(ordersOf([paid, failed, before]).outcomes).toEqual(['applied', 'applied', 'applied']);
    expect(ordersOf([paid, failed, after]).outcomes).toEqual(['applied', 'applied', 'applied']);
    expect(ordersOf([failed, paid, before]).outcomes).toEqual(['applied', 'applied', 'stale']);
    expect(ordersOf([failed, paid, after]).outcomes).toEqual(['applied', 'applied', 'unchanged']);
  });

  test('is decided again when the earlier second turns out to end differently', () => {
    const corrected = change('active', 'unpaid', 9.5);
    expect(ordersOf([before, failed, paid]).state?.subscription).toBe(paid.subscription);
    expect(ordersOf([before, failed, paid, corrected]).state?.subscription).toBe(
      failed.subscription,
    );
  });
});

describe('a snapshot', () => {
  const shown = (observed: readonly ParsedEvent[]) => ({
    ...snapshot({ status: 'active' }),
    seenKeys: new Set(observed.map(({ key }) => key)),
  });
  const ended = event({ status: 'canceled' });

  test('decides the order of the events that were known when it was requested', () => {
    const complete = shown(cycle);
    expect(lastOf([...cycle, complete])).toEqual({
      subscription: complete.subscription,
      order: 'known',
    });
  });

  test('leaves the order ambiguous when an event of its second arrives later', () => {
    const { subscription, order } = lastOf([...cycle, shown(cycle), ended]) ?? {};
    expect({ subscription, order }).toEqual({
      subscription: ended.subscription,
      order: 'ambiguous',
    });
  });

  test('decides again when a later snapshot includes all events', () => {
    const later = shown([...cycle, ended]);
    expect(lastOf([...cycle, shown(cycle), ended, later])?.subscription).toBe(later.subscription);
  });
});
