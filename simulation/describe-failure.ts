import { describeDivergence } from './divergence.ts';
import type { Failure } from './level.ts';
import type { Step } from './lifecycle/delivery-schedule.ts';
import { renderHistory } from './lifecycle/history.ts';

/** The lines that explain a divergence: the true events, the steps and the differences. */
export function describeFailure(failure: Failure): string[] {
  const { customer, steps, divergences, isShrunk, planSelection } = failure;
  const { events } = renderHistory(customer.lifecycle, customer.format);
  const startSeconds = events[0]?.createdSeconds ?? 0;
  const after = (seconds: number) => `${seconds - startSeconds} s`.padStart(10);
  return [
    `${isShrunk ? 'The fewest events that still diverge' : 'The customer'}: ` +
      `${customer.lifecycle.customerId}, API shape ${customer.format.shape}, TEAM_PLAN=${planSelection}`,
    'The events in the true order:',
    ...events.map(
      ({ number, createdSeconds, subscriptionId, status, productId, body }) =>
        `  ${after(createdSeconds)}  event ${number}: ${subscriptionId} ${status} ` +
        `${productId ?? 'without a product'} ${replacedBy(body)}`,
    ),
    'The steps:',
    ...steps.map((step) => `  ${after(Math.floor(step.atMs / 1_000))}  ${describeStep(step)}`),
    'The result:',
    ...divergences.map((divergence) => `  ${describeDivergence(divergence)}`),
  ];
}

function replacedBy(body: string): string {
  const { data } = JSON.parse(body) as { data: { previous_attributes?: object } };
  const replaced = data.previous_attributes;
  return replaced === undefined ? '(deleted)' : `(replaced ${Object.keys(replaced).join(', ')})`;
}

const RELINKED = {
  move: 'the customer moves to another team',
  recreate: 'the team is deleted, and added again',
  duplicate: 'a second team gets the customer',
} as const;

function describeStep(step: Step): string {
  switch (step.kind) {
    case 'deliver':
      return `event ${step.number} is delivered${step.isBatched ? ', in the same batch' : ''}`;
    case 'link':
      return 'the team is linked';
    case 'relink':
      return RELINKED[step.how];
    case 'checkout':
      return `the application writes an active plan of ${step.isNew ? 'a new subscription' : `the subscription of event ${step.number}`} into the team`;
    case 'redirect':
      return `the checkout of ${step.subscriptionId} is completed${step.isApiUp ? '' : ', without an answer'}`;
    case 'gift':
      return `the application gives the team a plan ${step.hasProduct ? 'with' : 'without'} a product`;
    case 'repair':
      return 'maintenance applies parked events';
    case 'request':
      return 'maintenance requests snapshots of ambiguous subscriptions';
    case 'end-snapshots':
      return "Stripe's API returns no subscription from here on";
    case 'receive':
      return 'the API returns the snapshots';
  }
}
