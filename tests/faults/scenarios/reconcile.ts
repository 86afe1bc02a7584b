import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiCollection,
  type ApiObject,
  createSubscriptionEvent,
  startFakeStripeApi,
} from 'instep/testing';
import type { Database } from '../../support/internals/database.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { spawnInstep } from '../../support/process/instep-process.ts';
import { API_KEY } from '../../support/secrets/test-secrets.ts';
import { openPipeline } from '../../support/service/pipelines.ts';
import { received } from '../../support/stripe/events.ts';
import { canMeasureUse, peakMegabytesOf } from '../process-use.ts';
import type { Scenario } from '../scenario.ts';

const CHUNK = 500;
const PAGE = 100;
/** Stripe's rate limit in test mode. */
const CALLS_PER_SECOND = 25;
const MAX_MEGABYTES = 200;
/** Makes the objects as large as Stripe's. */
const METADATA = { note: 'x'.repeat(2_000) };
/** The minimum rate for a limit of ten calls per second, if there were enough calls. */
const MIN_CALLS_PER_SECOND = 8;
const ENOUGH_CALLS = 1_000;

const CAUSES = ['missed event', 'never seen', 'changed by hand'] as const;
type Cause = (typeof CAUSES)[number];

/** One in a hundred has drifted, alternating between the three causes. */
const causeOf = (number: number): Cause | null =>
  number % 100 === 0 ? (CAUSES[(number / 100) % CAUSES.length] ?? null) : null;

export const reconcile: Scenario = {
  fault:
    'Stripe has the given number of subscriptions, and 1% of the teams have drifted (differ from Stripe)',
  promise:
    'instep reconcile finds and repairs exactly these teams, stays within its rate limit, ' +
    `and uses at most ${MAX_MEGABYTES} MB of memory`,
  times: { short: 2_000, long: 100_000 },
  isPossible: canMeasureUse,
  async run({ times, onProgress }) {
    const { url, database } = await createDatabase();
    const subscriptions = await prepare(database, times, onProgress);
    const callsAtMs: number[] = [];
    const api = await startFakeStripeApi({
      productNames: { prod_1: 'One', prod_2: 'Two' },
      subscriptions,
      onCall(path) {
        const calledAtMs = performance.now();
        if (path.startsWith('/v1/subscriptions')) callsAtMs.push(calledAtMs);
        const earlierMs = callsAtMs.at(-1 - CALLS_PER_SECOND) ?? Number.NEGATIVE_INFINITY;
        return calledAtMs - earlierMs < 1_000 ? { status: 429 } : undefined;
      },
    });
    const environment = {
      DATABASE_URL: url.href,
      STRIPE_SECRET_KEY: API_KEY,
      STRIPE_API_BASE: api.url,
    };

    const shown = await run(['--dry-run'], environment);
    const calls = callsAtMs.length;
    const listedSeconds = ((callsAtMs.at(-1) ?? 0) - (callsAtMs[0] ?? 0)) / 1_000;
    const repaired = await run([], environment);
    const after = await run(['--dry-run'], environment);
    await api.close();
    await database.close();

    const drifted = Array.from({ length: times }, (_, number) => number).filter(causeOf);
    for (const { issues } of [shown, repaired]) expectExactly(issues, drifted);
    expectExactly(after.issues, []);
    if (calls > Math.ceil(times / PAGE)) throw new Error(`${calls} calls for ${times}`);
    const callsPerSecond = (calls - 1) / listedSeconds;
    if (calls >= ENOUGH_CALLS && callsPerSecond < MIN_CALLS_PER_SECOND) {
      throw new Error(`${callsPerSecond} calls a second: our own rate limit was not kept`);
    }
    const megabytes = Math.max(shown.megabytes, repaired.megabytes, after.megabytes);
    if (megabytes > MAX_MEGABYTES) throw new Error(`${megabytes} MB`);
    return {
      drifted: drifted.length,
      'found and repaired': repaired.issues.length,
      'false positives': 0,
      'calls for 100 subscriptions each': calls,
      'calls/s': Math.round(callsPerSecond * 10) / 10,
      'seconds in total': Math.round(shown.seconds),
      'MB at most': megabytes,
      cases: times,
    };
  },
};

/** Creates teams, most of them up to date, and the account at Stripe. */
async function prepare(
  database: Database,
  count: number,
  onProgress: ((done: number) => void) | undefined,
): Promise<ApiCollection> {
  const ingest = openPipeline(database, async () => 'One');
  const objects: ApiObject[] = [];
  await database.query(
    `insert into teams (name, provider_customer_id)
     select 'Team', 'cus_' || number from generate_series(0, $1::integer) as number`,
    [count - 1],
  );
  for (let from = 0; from < count; from += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, count - from) }, (_, at) => from + at);
    const seen = numbers.filter((number) => causeOf(number) !== 'never seen');
    await ingest(seen.map((number) => received(JSON.stringify(eventOf(number)))));
    for (const number of numbers) {
      const { object } = eventOf(number).data;
      const now = causeOf(number) === 'missed event' ? { status: 'unpaid' } : {};
      objects.push(Object.assign(object, now, { metadata: METADATA }));
    }
    onProgress?.(from);
  }
  const byHand = objects.flatMap((_, number) =>
    causeOf(number) === 'changed by hand' ? `cus_${number}` : [],
  );
  await database.query(
    `update teams set subscription_status = 'trialing' where provider_customer_id = any ($1)`,
    [byHand],
  );
  await database.query('analyze');
  return new ApiCollection(objects);
}

function eventOf(number: number) {
  return createSubscriptionEvent({
    eventId: `evt_${number}`,
    type: 'customer.subscription.updated',
    createdSeconds: 1_600_000_000 + number,
    customerId: `cus_${number}`,
    subscriptionId: `sub_${number}`,
    status: 'active',
    productId: 'prod_1',
  });
}

/** The exit code of `instep reconcile` when it leaves drift. */
const DRIFT = 3;

type Found = { readonly kind: string; readonly customerId: string; readonly cause?: Cause };

async function run(args: readonly string[], environment: Readonly<Record<string, string>>) {
  const startedAtMs = performance.now();
  const spawned = spawnInstep(['reconcile', '--json', ...args], environment);
  let megabytes = 0;
  let code: number | null | undefined;
  void spawned.exited.then((exit) => {
    code = exit;
  });
  while (code === undefined) {
    megabytes = Math.max(megabytes, peakMegabytesOf(spawned.process.pid ?? 0));
    await sleep(100);
  }
  const lines: Found[] = spawned.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const issues = lines.filter(({ kind }) => kind !== 'counts');
  const expected = args.length > 0 && issues.length > 0 ? DRIFT : 0;
  if (code !== expected) throw new Error(`exit ${code}: ${spawned.stderr}`);
  return { issues, megabytes, seconds: (performance.now() - startedAtMs) / 1_000 };
}

/** @throws Error unless exactly the drifted subscriptions were found, with their causes */
function expectExactly(issues: readonly Found[], drifted: readonly number[]): void {
  const found = new Map(issues.map((issue) => [issue.customerId, issue.cause]));
  const wrong = drifted.filter((number) => found.get(`cus_${number}`) !== causeOf(number));
  if (wrong.length === 0 && issues.length === drifted.length) return;
  throw new Error(`${issues.length} found of ${drifted.length}, ${wrong.length} wrong or missing`);
}
