import { expect, test } from 'vitest';
import { spawnInstep } from '../support/process/instep-process.ts';
import { openApp } from './audited-app.ts';

const CUSTOMERS = 20_000;

/** Prints the most memory that the process had, in MB, when it ends. */
const PRINT_PEAK = `data:text/javascript,process.on('exit', () => console.error('peak', process.resourceUsage().maxRSS / 1000))`;

test('memory grows by a few hundred bytes for a customer', async () => {
  const app = await openApp('saas-starter');
  await app.sql(`
    insert into teams (name, stripe_customer_id, stripe_subscription_id, stripe_product_id, subscription_status)
    select 'x', 'cus_' || id, 'sub_' || id, 'prod_pro', 'active' from generate_series(1, ${CUSTOMERS}) as id`);
  for (let id = 1; id <= CUSTOMERS; id += 1)
    app.subscribe(`cus_${id}`, { subscriptionId: `sub_${id}` });
  const environment = { ...app.environment, NODE_OPTIONS: `--import="${PRINT_PEAK}"` };
  const child = spawnInstep(['audit'], environment);
  expect(await child.exited).toBe(0);
  expect(Number(/peak (\S+)/.exec(child.stderr)?.[1])).toBeLessThan(130);
});
