import type { Step } from '../src/testing/lifecycle/delivery-schedule.ts';
import { tellLife } from '../src/testing/lifecycle/history.ts';
import { describeDivergence } from './divergence.ts';
import type { Failure } from './level.ts';

/** A divergence for a person: what happened, what was done with it, and what came of it. */
export function describeFailure({
  told,
  steps,
  divergences,
  isShrunk,
  planSelection,
}: Failure): string[] {
  const { events } = tellLife(told.life, told.telling);
  const startSeconds = events[0]?.createdSeconds ?? 0;
  const after = (seconds: number) => `${seconds - startSeconds} s`.padStart(10);
  return [
    `${isShrunk ? 'The fewest events that still diverge' : 'The customer'}: ${told.life.customerId}, ` +
      `API shape ${told.telling.shape}, TEAM_PLAN=${planSelection}`,
    'What truly happened, in the true order:',
    ...events.map(
      ({ number, createdSeconds, subscriptionId, status, productId, body }) =>
        `  ${after(createdSeconds)}  event ${number}: ${subscriptionId} ${status} ` +
        `${productId ?? 'without a product'} ${replacedBy(body)}`,
    ),
    'What was done with it:',
    ...steps.map((step) => `  ${after(Math.floor(step.atMs / 1_000))}  ${describeStep(step)}`),
    'What came of it:',
    ...divergences.map((divergence) => `  ${describeDivergence(divergence)}`),
  ];
}

function replacedBy(body: string): string {
  const { data } = JSON.parse(body) as { data: { previous_attributes?: object } };
  const replaced = data.previous_attributes;
  return replaced === undefined ? '(deleted)' : `(replaced ${Object.keys(replaced).join(', ')})`;
}

function describeStep(step: Step): string {
  switch (step.kind) {
    case 'deliver':
      return `event ${step.number} is delivered${step.isTogether ? ', in the same batch' : ''}`;
    case 'link':
      return 'the team is linked';
    case 'repair':
      return 'the keeper applies what is parked';
    case 'ask':
      return 'the keeper asks the API for what is marked';
    case 'answer':
      return 'the API answers';
  }
}
