import type { SubscriptionState } from 'instep/src/core/subscription-event.ts';
import { NO_PLAN } from 'instep/src/core/transition.ts';
import { TeamStatusPanel } from 'instep-console/src/teams/team-status-panel.tsx';
import { expect, test } from 'vitest';

const deciding: SubscriptionState = {
  customerId: 'cus_1',
  subscriptionId: 'sub_1',
  status: 'canceled',
  productId: null,
  planName: null,
  createdSeconds: 1_700_000_000,
};

test.each([
  ['canceled', 'was canceled. The customer has had no plan since'],
  [
    'unpaid',
    'is unpaid: Stripe has stopped retrying its payments. The customer has had no plan since',
  ],
])('a team whose subscription has the clearing status %s reads: %s', (status, text) => {
  const html = String(
    TeamStatusPanel({
      team: {
        id: 1,
        name: 'Team',
        customerId: null,
        plan: NO_PLAN,
        lostPlan: null,
        dueSinceMs: null,
      },
      status: {
        kind: 'lost plan',
        deciding: { ...deciding, status },
        since: { seconds: deciding.createdSeconds, isExact: true, delay: null },
      },
      issue: null,
      isLinkable: false,
      isCompared: false,
      notes: [],
      planSelection: 'newest',
    }),
  );
  expect(html.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ')).toContain(text);
});
