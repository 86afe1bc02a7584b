/** What distinguishes the events of the load. */
export type EventContent = {
  readonly eventId: string;
  readonly team: number;
  readonly createdSeconds: number;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly status: string;
  readonly priceId: string;
  readonly productId: string;
  readonly invoiceId: string;
  /** The values that the event replaced. */
  readonly previousAttributes: Readonly<Record<string, string | null>>;
};

/** A prime that divides no number of teams, so that consecutive events spread over the teams. */
const STRIDE = 7_919;
const FIRST_SECOND = 1_750_000_000;
const EVENTS_PER_SECOND = 1_000;
/** When the event with this number was created, unless its team has a later one. */
export const secondOf = (number: number) => FIRST_SECOND + Math.floor(number / EVENTS_PER_SECOND);
const PERIOD_SECONDS = 30 * 24 * 60 * 60;

export const STATUSES = ['active', 'trialing'] as const;
export const PLANS = ['Starter', 'Pro', 'Scale'] as const;

const digits = (number: number, length: number) => String(number).padStart(length, '0');

/** Ids as long as Stripe's. Team numbers start at 1. */
export const eventIdOf = (number: number) => `evt_1Bench${digits(number, 18)}`;
export const invoiceIdOf = (number: number) => `in_1Bench${digits(number, 18)}`;
export const customerIdOf = (team: number) => `cus_Bench${digits(team, 9)}`;
export const subscriptionIdOf = (team: number) => `sub_1Bench${digits(team, 18)}`;
export const priceIdOf = (plan: number) => `price_1Bench${digits(plan, 18)}`;
export const productIdOf = (plan: number) => `prod_Bench${digits(plan, 9)}`;

/**
 * The content of the event with this number. Events cycle through the teams, and each one changes
 * its team's status and product.
 */
export function contentOf(number: number, teams: number): EventContent {
  const team = ((number * STRIDE) % teams) + 1;
  const cycle = Math.floor(number / teams);
  const status = STATUSES[cycle % STATUSES.length] ?? '';
  return {
    eventId: eventIdOf(number),
    team,
    createdSeconds: secondOf(number),
    customerId: customerIdOf(team),
    subscriptionId: subscriptionIdOf(team),
    status,
    priceId: priceIdOf(cycle % PLANS.length),
    productId: productIdOf(cycle % PLANS.length),
    invoiceId: invoiceIdOf(number),
    previousAttributes: { latest_invoice: null, status: otherStatus(status) },
  };
}

export function otherStatus(status: string): string {
  return status === STATUSES[0] ? STATUSES[1] : STATUSES[0];
}

/** The content of each team's last event among this many; `null` where there is none. */
export function lastContents(events: number, teams: number): (EventContent | null)[] {
  const last: (EventContent | null)[] = new Array(teams).fill(null);
  for (let number = Math.max(0, events - teams); number < events; number += 1) {
    const content = contentOf(number, teams);
    last[content.team - 1] = content;
  }
  return last;
}

const MARK = /"#(\w+)#"/;

/** The template's texts, alternating with the names of the values between them. */
const pieces = JSON.stringify(template()).split(MARK);

/** The body of an event with this content, about 3.3 kB. */
export function bodyOf(content: EventContent): string {
  const { createdSeconds, subscriptionId } = content;
  const values: Readonly<Record<string, unknown>> = {
    ...content,
    itemId: `si_${subscriptionId.slice(-14)}`,
    periodEnd: createdSeconds + PERIOD_SECONDS,
  };
  let body = '';
  for (const [index, piece] of pieces.entries()) {
    body += index % 2 === 0 ? piece : JSON.stringify(values[piece]);
  }
  return body;
}

/** The complete object, as Stripe sends it since 2025; `#name#` is a variable part. */
function template() {
  const priced = {
    active: true,
    billing_scheme: 'per_unit',
    created: FIRST_SECOND,
    currency: 'usd',
    livemode: false,
    metadata: {},
    nickname: null,
    product: '#productId#',
    tiers_mode: null,
  };
  return {
    id: '#eventId#',
    object: 'event',
    api_version: '2025-08-27.basil',
    created: '#createdSeconds#',
    data: {
      object: {
        id: '#subscriptionId#',
        object: 'subscription',
        application: null,
        application_fee_percent: null,
        automatic_tax: { disabled_reason: null, enabled: false, liability: null },
        billing_cycle_anchor: '#createdSeconds#',
        billing_cycle_anchor_config: null,
        billing_mode: { flexible: null, type: 'classic' },
        billing_thresholds: null,
        cancel_at: null,
        cancel_at_period_end: false,
        canceled_at: null,
        cancellation_details: { comment: null, feedback: null, reason: null },
        collection_method: 'charge_automatically',
        created: FIRST_SECOND,
        currency: 'usd',
        customer: '#customerId#',
        days_until_due: null,
        default_payment_method: 'pm_1Bench000000000000000001',
        default_source: null,
        default_tax_rates: [],
        description: null,
        discounts: [],
        ended_at: null,
        invoice_settings: { account_tax_ids: null, issuer: { type: 'self' } },
        items: {
          object: 'list',
          data: [
            {
              id: '#itemId#',
              object: 'subscription_item',
              billing_thresholds: null,
              created: FIRST_SECOND,
              current_period_end: '#periodEnd#',
              current_period_start: '#createdSeconds#',
              discounts: [],
              metadata: {},
              plan: {
                id: '#priceId#',
                object: 'plan',
                ...priced,
                amount: 2_000,
                amount_decimal: '2000',
                interval: 'month',
                interval_count: 1,
                meter: null,
                transform_usage: null,
                trial_period_days: null,
                usage_type: 'licensed',
              },
              price: {
                id: '#priceId#',
                object: 'price',
                ...priced,
                custom_unit_amount: null,
                lookup_key: null,
                recurring: {
                  interval: 'month',
                  interval_count: 1,
                  meter: null,
                  trial_period_days: null,
                  usage_type: 'licensed',
                },
                tax_behavior: 'unspecified',
                transform_quantity: null,
                type: 'recurring',
                unit_amount: 2_000,
                unit_amount_decimal: '2000',
              },
              quantity: 1,
              subscription: '#subscriptionId#',
              tax_rates: [],
            },
          ],
          has_more: false,
          total_count: 1,
          url: '/v1/subscription_items',
        },
        latest_invoice: '#invoiceId#',
        livemode: false,
        metadata: {
          workspace: 'the name of the workspace that the customer entered',
          source: 'https://app.example.com/settings/billing?from=trial-is-ending-soon',
          salesperson: 'none, the customer came by herself',
        },
        next_pending_invoice_item_invoice: null,
        on_behalf_of: null,
        pause_collection: null,
        payment_settings: {
          payment_method_options: { card: { network: null, request_three_d_secure: 'automatic' } },
          payment_method_types: ['card'],
          save_default_payment_method: 'off',
        },
        pending_invoice_item_interval: null,
        pending_setup_intent: null,
        pending_update: null,
        schedule: null,
        start_date: FIRST_SECOND,
        status: '#status#',
        test_clock: null,
        transfer_data: null,
        trial_end: null,
        trial_settings: { end_behavior: { missing_payment_method: 'create_invoice' } },
        trial_start: null,
      },
      previous_attributes: '#previousAttributes#',
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: 'customer.subscription.updated',
  };
}
