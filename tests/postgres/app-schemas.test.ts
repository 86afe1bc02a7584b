import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../support/internals/database.ts';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { type InstepProcess, runInstep, startInstep } from '../support/process/instep-process.ts';
import { SCHEMAS, type Schema, schemaSql } from '../support/schemas/schemas.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, receivedEvent } from '../support/stripe/events.ts';
import { repetitions } from '../support/test-length.ts';

const PERIOD_END = 1_800_000_000;
const TRIAL_END = 1_790_000_000;

type App = {
  readonly table: string;
  readonly customerColumn: string;
  /** SQL that adds a row for the customer `$1`. */
  readonly insert: string;
  readonly granted: Readonly<Record<string, unknown>>;
  readonly cleared: Readonly<Record<string, unknown>>;
  readonly INSTEP_TABLES?: string;
};

const APPS: Readonly<Record<Schema, App>> = {
  'saas-starter': {
    table: 'teams',
    customerColumn: 'stripe_customer_id',
    insert: `insert into teams (name, stripe_customer_id) values ('Acme', $1)`,
    granted: {
      ...{ stripe_subscription_id: 'sub_1', stripe_product_id: 'prod_1' },
      ...{ plan_name: 'Pro plan', subscription_status: 'active' },
    },
    cleared: {
      ...{ stripe_subscription_id: null, stripe_product_id: null },
      ...{ plan_name: null, subscription_status: 'canceled' },
    },
  },
  prisma: {
    table: '"User"',
    customerColumn: '"stripeCustomerId"',
    insert: `insert into "User" (id, "stripeCustomerId") values ('clx' || $1, $1)`,
    granted: {
      ...{ stripeSubscriptionId: 'sub_1', stripePriceId: 'price_1' },
      stripeCurrentPeriodEnd: '2027-01-15T08:00:00',
    },
    cleared: { stripeSubscriptionId: null, stripePriceId: null, stripeCurrentPeriodEnd: null },
  },
  'better-auth': {
    table: 'organization',
    customerColumn: 'stripe_customer_id',
    insert: `insert into organization (id, name, slug, stripe_customer_id) values ('org' || $1, 'Acme', $1, $1)`,
    granted: {
      ...{ plan: 'Pro plan', subscription_status: 'active', quantity: 3 },
      ...{ current_period_end: '2027-01-15T08:00:00+00:00', cancel_at_period_end: true },
    },
    cleared: {
      ...{ plan: null, subscription_status: 'canceled', quantity: null },
      ...{ current_period_end: null, cancel_at_period_end: false },
    },
    INSTEP_TABLES: '{"teams": {"columns": {"planName": "plan"}}}',
  },
  supabase: {
    table: 'customers',
    customerColumn: 'stripe_customer_id',
    insert: `
      with person as (insert into auth.users (email) values ($1 || '@example.com') returning id)
      insert into customers (id, stripe_customer_id) select id, $1 from person`,
    granted: {
      ...{ stripe_subscription_id: 'sub_1', subscription_status: 'active', price_id: 'price_1' },
      ...{ quantity: 3, cancel_at_period_end: true },
      current_period_end: '2027-01-15T08:00:00+00:00',
      trial_end: '2026-09-21T14:13:20+00:00',
    },
    cleared: {
      ...{ stripe_subscription_id: null, subscription_status: 'canceled', price_id: null },
      ...{ quantity: null, cancel_at_period_end: null, current_period_end: null, trial_end: null },
    },
  },
  django: {
    table: 'accounts_account',
    customerColumn: 'stripe_customer_id',
    insert: 'insert into accounts_account (stripe_customer_id) values ($1)',
    granted: {
      ...{ stripe_subscription_id: 'sub_1', stripe_product_id: 'prod_1', plan_name: 'Pro plan' },
      ...{ subscription_status: 'active', current_period_end: PERIOD_END },
      cancel_at_period_end: true,
    },
    cleared: {
      ...{ stripe_subscription_id: null, stripe_product_id: null, plan_name: 'Pro plan' },
      ...{ subscription_status: 'canceled', current_period_end: null, cancel_at_period_end: false },
    },
  },
};

/** An event whose product is an object with a name. */
function namedBody(fields: Parameters<typeof eventBody>[0]): string {
  const event = JSON.parse(eventBody(fields));
  for (const { plan } of event.data.object.items.data) {
    plan.product = { id: plan.product, object: 'product', name: 'Pro plan' };
  }
  return JSON.stringify(event);
}

describe.each(SCHEMAS)('%s', (schema) => {
  const { table, customerColumn, insert, granted, cleared, INSTEP_TABLES = '{}' } = APPS[schema];
  let url: URL;
  let database: Database;
  let instep: InstepProcess;
  const environment = () => {
    return { DATABASE_URL: url.href, PROFILE: 'off', AUTH_SECRET: '', INSTEP_TABLES };
  };

  beforeAll(async () => {
    url = await createEmptyDatabase();
    const tables = { profile: 'off', ...JSON.parse(INSTEP_TABLES) };
    database = connect(url, { tables });
    await database.query(schemaSql(schema));
    instep = await startInstep(environment());
  });
  afterAll(() => instep?.stop());

  async function rowOf(customerId: string) {
    const [found] = await database.query<{ row: Record<string, unknown> }>(
      `select to_jsonb(found) as row from ${table} as found where ${customerColumn} = $1`,
      [customerId],
    );
    return found?.row ?? {};
  }

  const post = async (fields: Parameters<typeof eventBody>[0]) =>
    (await instep.post(namedBody(fields))).status;

  test('an event that grants the plan writes the fields that the table has, and one that ends it clears them', async () => {
    await database.query(insert, ['cus_1']);
    const priced = { priceId: 'price_1', quantity: 3, cancelAtPeriodEnd: true };
    const dated = { currentPeriodEndSeconds: PERIOD_END, trialEndSeconds: TRIAL_END };
    expect(await post({ ...priced, ...dated })).toBe(200);
    expect(await rowOf('cus_1')).toMatchObject(granted);

    const access = await database.query('select has_access from instep.team_access');
    expect(access).toContainEqual({ has_access: true });

    expect(await post({ ...priced, ...dated, status: 'past_due' })).toBe(200);
    expect(await rowOf('cus_1')).toMatchObject(granted);

    expect(await post({ ...priced, ...dated, status: 'canceled' })).toBe(200);
    expect(await rowOf('cus_1')).toMatchObject(cleared);
    const { code, stdout } = await runInstep(['rebuild', '--dry-run', '--json'], environment());
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('cus_1')]);
  });

  test('the start says what is written', () => {
    const recognized = instep.lines.find((line) => line.includes('columns of plans')) ?? '';
    for (const column of [customerColumn, ...Object.keys(granted)]) {
      expect(recognized.replaceAll('\\"', '"')).toContain(column);
    }
  });

  test('a renewal changes only the end of the period', async () => {
    await database.query(insert, ['cus_2']);
    const sent = { customerId: 'cus_2', subscriptionId: 'sub_2', quantity: 3 };
    expect(await post({ ...sent, currentPeriodEndSeconds: PERIOD_END })).toBe(200);
    const before = await rowOf('cus_2');
    expect(await post({ ...sent, currentPeriodEndSeconds: PERIOD_END + 86_400 })).toBe(200);
    const after = await rowOf('cus_2');
    const changed = Object.keys(after).filter((name) => after[name] !== before[name]);
    const periodEnd = Object.keys(granted).filter(
      (name) => /period_?end$/i.test(name) && !/cancel/.test(name),
    );
    expect(changed.filter((name) => name !== 'updated_at' && name !== 'updatedAt')).toEqual(
      periodEnd,
    );
  });

  test('every order of arrival ends in the same row', async () => {
    const ingest = openPipeline(database, async (productId) => `Plan of ${productId}`);
    let customers = 0;
    const anyEvent = fc.record({
      createdSeconds: fc.nat({ max: 1_000 }),
      subscription: fc.constantFrom('a', 'b'),
      status: fc.constantFrom('active', 'trialing', 'canceled', 'unpaid', 'past_due'),
      productId: fc.constantFrom('prod_1', 'prod_2'),
      priceId: fc.constantFrom('price_1', 'price_2'),
      quantity: fc.integer({ min: 1, max: 5 }),
      cancelAtPeriodEnd: fc.boolean(),
      currentPeriodEndSeconds: fc.integer({ min: PERIOD_END, max: PERIOD_END + 9 }),
      trialEndSeconds: fc.option(fc.integer({ min: TRIAL_END, max: TRIAL_END + 9 }), {
        nil: undefined,
      }),
    });
    const deliveries = fc
      .uniqueArray(anyEvent, {
        selector: ({ createdSeconds }) => createdSeconds,
        minLength: 1,
        maxLength: 8,
      })
      .chain((events) =>
        fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
      );

    /** The row after these events, without what is another for each customer. */
    async function rowAfter(
      events: readonly (typeof anyEvent extends fc.Arbitrary<infer One> ? One : never)[],
    ) {
      customers += 1;
      const customerId = `cus_order${customers}`;
      await database.query(insert, [customerId]);
      for (const { subscription, ...event } of events) {
        const subscriptionId = `sub_${subscription}_${customerId}`;
        await ingest([receivedEvent({ ...event, customerId, subscriptionId })]);
      }
      const row = await rowOf(customerId);
      // A name that stays in a column that can't be null says nothing.
      const isKept = cleared.plan_name !== null && row.stripe_subscription_id === null;
      const names = Object.keys(granted).filter((name) => name !== 'plan_name' || !isKept);
      const plan = names.map((name) => [name, row[name]]);
      return JSON.stringify(plan).replaceAll(customerId, 'cus');
    }

    const property = fc.asyncProperty(deliveries, async ([events, order]) => {
      const inOrder = events.toSorted((a, b) => a.createdSeconds - b.createdSeconds);
      expect(await rowAfter(order)).toEqual(await rowAfter(inOrder));
    });
    await fc.assert(property, { numRuns: repetitions(10, 100) });
  });
});
