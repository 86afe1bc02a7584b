import type { Resource } from '../../stripe/resource-access.ts';
import type { Account } from './account.ts';
import { type Check, failure, ok, warning } from './check.ts';

const NAME = "Stripe's API";

const DASHBOARD = 'Stripe dashboard, Developers, API keys';

/** What Instep cannot do without, and what it can. */
const LACKING: Readonly<Record<Resource, { readonly costs: string; readonly isHarmful: boolean }>> =
  {
    events: { costs: 'events that never came cannot be caught up with', isHarmful: true },
    subscriptions: {
      costs: 'ties cannot be decided, and nothing can be reconciled',
      isHarmful: true,
    },
    products: { costs: 'plans stay without a name', isHarmful: true },
    customers: {
      costs: '`instep reconcile` cannot tell customers that Stripe does not know',
      isHarmful: false,
    },
    'webhook endpoints': {
      costs: 'only this command reads them, and cannot look at them now',
      isHarmful: false,
    },
  };

/** Whether the API answers, and what of it the key may read. */
export function checkAccess(account: Account): Check[] {
  const answers = [...account];
  const isUnknown = answers.some(
    ([, answer]) => answer.kind === 'refused' && answer.status === 401,
  );
  if (isUnknown) {
    const whatToDo = `replace STRIPE_SECRET_KEY by one of your account's (${DASHBOARD})`;
    return [failure(NAME, 'does not know the key: it was mistyped, rolled or revoked', whatToDo)];
  }
  const checks = answers.flatMap(([resource, answer]): Check[] => {
    if (answer.kind === 'granted') return [];
    if (answer.kind === 'failed') return [unreachable(resource, answer.reason)];
    const { costs, isHarmful } = LACKING[resource];
    const says = `the key may not read ${resource}: ${costs}`;
    const whatToDo = `let it read them (${DASHBOARD}, the key, Edit permissions)`;
    return [isHarmful ? failure(NAME, says, whatToDo) : warning(NAME, says, whatToDo)];
  });
  const readable = answers.flatMap(([resource, { kind }]) => (kind === 'granted' ? resource : []));
  if (readable.length === 0) return checks;
  return [ok(NAME, `answers; the key may read ${readable.join(', ')}`), ...checks];
}

function unreachable(resource: Resource, reason: string): Check {
  return warning(
    NAME,
    `cannot be asked for ${resource}: ${reason}`,
    'look at the network, at a proxy or firewall (api.stripe.com, 443), and at status.stripe.com',
  );
}
