import { randomBytes } from 'node:crypto';
import { Command } from 'commander';
import { readWebhookTarget } from '../config/config.ts';
import { InstepError } from '../runtime/errors.ts';
import { urlOf } from '../server/listener.ts';
import { signWebhook } from '../testing/sign-webhook.ts';
import { createSubscriptionEvent } from '../testing/subscription-event.ts';
import { positiveInteger } from './arguments.ts';
import { printData } from './output.ts';

type TriggerOptions = {
  customer: string;
  status?: string;
  subscription: string;
  product: string;
  id?: string;
  created?: number;
  url?: string;
  json?: boolean;
};

/** The event could not be delivered, or was not answered 200. */
class TriggerFailed extends InstepError {
  readonly code = 'TRIGGER_FAILED';
}

const DEADLINE_MS = 15_000;

export function triggerCommand(): Command {
  return new Command('trigger')
    .description('sign an event with STRIPE_WEBHOOK_SECRET and post it, as Stripe would')
    .argument('<type>', 'the type, such as customer.subscription.updated')
    .requiredOption('--customer <id>', 'the id of the customer')
    .option('--status <status>', 'the status (default: active, or canceled for a deletion)')
    .option('--subscription <id>', 'the id of the subscription', 'sub_example')
    .option('--product <id>', 'the id of the product', 'prod_example')
    .option('--id <id>', 'the id of the event (default: a new one)')
    .option('--created <seconds>', 'when Stripe made it, in seconds since 1970', positiveInteger)
    .option('--url <url>', 'where to (default: the webhook at HOST and PORT)')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  instep trigger customer.subscription.updated --customer cus_123 --status active',
    )
    .action(async (type: string, options: TriggerOptions) => {
      const { webhookSecrets, host, port } = readWebhookTarget(process.env);
      const url = options.url ?? `${urlOf(host, port)}/api/stripe/webhook`;
      const nowMs = Date.now();
      const eventId = options.id ?? `evt_${randomBytes(12).toString('hex')}`;
      const body = JSON.stringify(
        createSubscriptionEvent({
          eventId,
          type,
          createdSeconds: options.created ?? Math.floor(nowMs / 1_000),
          customerId: options.customer,
          subscriptionId: options.subscription,
          status: options.status ?? (type.endsWith('.deleted') ? 'canceled' : 'active'),
          productId: options.product,
        }),
      );
      const answer = await post(url, body, signWebhook(body, webhookSecrets[0], nowMs));
      printData({ eventId, status: answer.status, answer: answer.text }, options);
      if (answer.status !== 200) throw new TriggerFailed(`answered ${answer.status}`);
    });
}

async function post(url: string, body: string, signature: string) {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Stripe-Signature': signature },
      body,
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    const hint = 'is the server running, and are PORT and HOST the same here?';
    throw new TriggerFailed(`${url} cannot be reached: ${hint}`, { cause });
  }
}
