import { expect, test } from 'vitest';
import { spawnInstep } from '../support/process/instep-process.ts';
import { openApp } from './audited-app.ts';

const CUSTOMERS = 100_000;

const padded = (id: number, length: number) => String(id).padStart(length, '0');

const PRODUCT = `prod_${padded(1, 14)}`;

/** Prints the most memory that the process had, in MB, when it ends. */
const PRINT_PEAK = `data:text/javascript,process.on('exit', () => console.error('peak', process.resourceUsage().maxRSS / 1000))`;

test.for([
  ['all right', 'active', [], 0],
  ['all wrong', 'canceled', [], 3],
  ['all wrong and printed', 'canceled', ['--json'], 3],
] as const)(
  '100,000 customers, %s, take the time of their calls and at most 150 MB',
  { timeout: 300_000 },
  async ([_, status, options, code], { annotate }) => {
    const app = await openApp('saas-starter');
    // Ids as long as those of Stripe.
    await app.sql(`
      insert into teams (name, stripe_customer_id, stripe_subscription_id, stripe_product_id, subscription_status)
      select 'x', 'cus_' || lpad(id::text, 14, '0'), 'sub_' || lpad(id::text, 24, '0'), '${PRODUCT}', 'active'
        from generate_series(1, ${CUSTOMERS}) as id`);
    for (let id = 1; id <= CUSTOMERS; id += 1)
      app.subscribe(`cus_${padded(id, 14)}`, {
        subscriptionId: `sub_${padded(id, 24)}`,
        productId: PRODUCT,
        status,
      });
    const callsMs: number[] = [];
    app.fault = () => {
      callsMs.push(performance.now());
      return undefined;
    };
    const startedAtMs = performance.now();
    const environment = { ...app.environment, NODE_OPTIONS: `--import="${PRINT_PEAK}"` };
    const child = spawnInstep(['audit', ...options], environment);
    expect(await child.exited).toBe(code);
    const tookMs = performance.now() - startedAtMs;
    const callingMs = (callsMs.at(-1) ?? 0) - (callsMs[0] ?? 0);
    const peakMb = Number(/peak (\S+)/.exec(child.stderr)?.[1]);
    const spansMs = callsMs.slice(10).map((atMs, index) => atMs - (callsMs[index] ?? 0));
    await annotate(
      `${peakMb} MB, ${tookMs} ms, of which ${callingMs} ms for ${callsMs.length} calls`,
    );
    expect(peakMb).toBeLessThan(150);
    expect(Math.min(...spansMs)).toBeGreaterThan(1_000);
    expect(tookMs).toBeLessThan(1.15 * callingMs + 5_000);
  },
);
