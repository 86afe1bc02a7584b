import type { Problem } from 'instep/operate/inside';

/** A sentence for each problem. */
export const REASONS: Readonly<Record<Problem, string>> = {
  'missed event': 'An event was missed.',
  'never seen': 'No event of the subscription has been received.',
  'changed by hand': 'The team was changed by hand, not by an event.',
  'another plan name': 'The product has another name at Stripe.',
  'no subscription': 'The team has a plan, but its customer has no subscription.',
  'plan refused': 'The database refuses the plan of this team. The server log has the reason.',
  'unknown customer':
    'Stripe does not know this customer. Link the right one. If Stripe knows none of your customers, check the account and the mode of the API key.',
  'customer without a team':
    'The customer has a subscription at Stripe but is not linked to a team.',
};
