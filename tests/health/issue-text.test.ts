import { ISSUES, type Issue, issueText } from 'instep/operate';
import { expect, test } from 'vitest';

const NOW_MS = Date.UTC(2027, 0, 1);
const MINUTE_MS = 60_000;

const cases: readonly (readonly [Issue, string])[] = [
  [
    {
      ...{ code: 'job-failed', ...ISSUES['job-failed'], count: 1, isMore: false },
      evidence: {
        jobs: [
          {
            ...{ job: 'reconcile', code: 'STRIPE_UNAVAILABLE' },
            ...{ sinceMs: NOW_MS - 2 * MINUTE_MS, attemptAtMs: NOW_MS + 5 * MINUTE_MS },
          },
        ],
      },
    },
    'The job reconcile has failed for 2 min (STRIPE_UNAVAILABLE); the next attempt is in 5 min',
  ],
  [
    {
      ...{ code: 'teams-not-compared', ...ISSUES['teams-not-compared'], count: 1, isMore: false },
      evidence: { linked: 20, uncompared: 20, nextAtMs: NOW_MS - 1 },
    },
    '20 of 20 teams not compared with Stripe yet; the next comparison is due now',
  ],
  [
    {
      ...{ code: 'unreadable-event', ...ISSUES['unreadable-event'], evidence: {} },
      ...{ count: 1_000, isMore: true },
    },
    '1,000+ events could not be read',
  ],
];

test.each(cases)('%o', (issue, text) => {
  expect(issueText(issue, NOW_MS)).toBe(text);
});
