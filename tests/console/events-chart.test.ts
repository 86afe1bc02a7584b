import type { LoggedOutcome } from 'instep/src/core/subscription-event.ts';
import { NO_DELAY } from 'instep/src/maintenance/statistics.ts';
import { slotsOf } from 'instep/src/operate/statistics.ts';
import { EventsChart } from 'instep-console/src/overview/events-chart.tsx';
import { rangeOf } from 'instep-console/src/overview/range.ts';
import { expect, test } from 'vitest';

const NOW_MS = Date.UTC(2026, 9, 14, 15, 30);

test('a single event that needs attention is visible among many others', () => {
  const range = rangeOf('hour');
  const row = (outcome: LoggedOutcome, count: number) => ({
    startsAtMs: NOW_MS,
    outcome,
    delayBucket: NO_DELAY,
    count,
  });
  const rows = [row('applied', 898), row('parked', 1), row('unreadable', 1)];
  const slots = slotsOf(rows, range, NOW_MS);
  const chart = String(EventsChart({ slots, range, marks: [] }));
  expect(chart).toContain('class="bar-applied" d="M59.10 100.00h0.8v-89.8h-0.8z"');
  expect(chart).toContain('class="bar-parked" d="M59.10 10.20h0.8v-1.5h-0.8z"');
  expect(chart).toContain('class="bar-unreadable" d="M59.10 8.70h0.8v-1.5h-0.8z"');
});
