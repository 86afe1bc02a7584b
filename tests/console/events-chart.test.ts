import type { Slot } from 'instep/operate';
import { EventsChart } from 'instep-console/src/overview/events-chart.tsx';
import { rangeOf } from 'instep-console/src/overview/range.ts';
import { expect, test } from 'vitest';

const LAST_MS = Date.UTC(2026, 9, 14, 15, 30);

test('a single event that needs attention is visible among many others', () => {
  const range = rangeOf('hour');
  const none = { applied: 0, unchanged: 0, stale: 0, parked: 0, unreadable: 0 };
  const slots: Slot[] = Array.from({ length: range.slots }, (_, index) => ({
    startsAtMs: LAST_MS - (range.slots - 1 - index) * 60_000,
    counts: index === range.slots - 1 ? { ...none, applied: 898, parked: 1, unreadable: 1 } : none,
  }));
  const chart = String(EventsChart({ slots, range }));
  expect(chart).toContain('class="bar-applied" d="M59.10 100.00h0.8v-89.8h-0.8z"');
  expect(chart).toContain('class="bar-parked" d="M59.10 10.20h0.8v-1.5h-0.8z"');
  expect(chart).toContain('class="bar-unreadable" d="M59.10 8.70h0.8v-1.5h-0.8z"');
});
