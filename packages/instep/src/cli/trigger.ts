// The command that posts a signed event, as Stripe does.

import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { urlOf } from 'instep-engine/http';
import { HANDLED_TYPES, isHandledType } from 'instep-engine/stripe';
import { readPart } from '../config/config.ts';
import { createSubscriptionEvent, signedRequest } from '../testing/stripe-objects.ts';
import { createCommand, positiveInteger } from './arguments.ts';
import { CommandFailed, type Json, printData, printMessage } from './output.ts';

type TriggerOptions = {
  customer: string;
  status?: string;
  subscription?: string;
  product: string;
  id?: string;
  created?: number;
  url?: string;
} & Json;

/** Longer than `REQUEST_DEADLINE_MS` by default. */
const DEADLINE_SECONDS = 10;

export function triggerCommand(): Command {
  return createCommand(
    'trigger',
    'sign an event with STRIPE_WEBHOOK_SECRET and post it, as Stripe does',
    'instep trigger customer.subscription.updated --customer cus_123 --status active',
  )
    .argument('<type>', 'event type, such as customer.subscription.updated')
    .requiredOption('--customer <id>', 'customer id')
    .option(
      '--status <status>',
      'status (default: active, or canceled if the type ends with .deleted)',
    )
    .option(
      '--subscription <id>',
      'subscription id (default: derived from the customer id, such as sub_123)',
    )
    .option('--product <id>', 'product id', 'prod_example')
    .option('--id <id>', 'event id (default: a new one)')
    .option('--created <seconds>', 'time of the event, in seconds since 1970', positiveInteger)
    .option('--url <url>', 'webhook URL (default: the one at HOST and PORT)')
    .option('--json', 'print JSON')
    .action(trigger);
}

async function trigger(type: string, options: TriggerOptions): Promise<void> {
  const [secret] = readPart('webhookSecrets', process.env);
  const { host, port } = readPart('listener', process.env);
  const url = options.url ?? `${urlOf(host, port)}/api/stripe/webhook`;
  const event = createSubscriptionEvent({
    type,
    customerId: options.customer,
    subscriptionId: options.subscription,
    productId: options.product,
    status: options.status,
    createdSeconds: options.created,
    eventId: options.id ?? `evt_${randomBytes(12).toString('hex')}`,
  });
  const { status, response } = await post(url, signedRequest(event, secret));
  printData({ eventId: event.id, status, response }, options);
  if (status !== 200) {
    const remedy =
      status === 400 ? ': give this command the STRIPE_WEBHOOK_SECRET of the server' : '';
    throw new CommandFailed('TRIGGER_FAILED', `the server responded with ${status}${remedy}`);
  }
  if (options.json) return;
  const next = isHandledType(type)
    ? `npx instep events show ${event.id} explains it`
    : `the server stores only events of the types ${HANDLED_TYPES.join(' and ')}`;
  printMessage(`→ ${next}`);
}

async function post(url: string, request: RequestInit) {
  const signal = AbortSignal.timeout(DEADLINE_SECONDS * 1_000);
  try {
    const response = await fetch(url, { ...request, signal });
    return { status: response.status, response: await response.text() };
  } catch (cause) {
    const problem = signal.aborted
      ? `did not answer within ${DEADLINE_SECONDS} seconds: is Instep listening there?`
      : "can't be reached: is the server running? Specify its address with HOST and PORT, or with --url";
    throw new CommandFailed('TRIGGER_FAILED', `${url} ${problem}`, { cause });
  }
}
