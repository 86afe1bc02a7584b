import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  addCompanies,
  inTrueOrder,
  PRODUCT_NAMES,
  walkthrough,
} from 'instep/src/cli/demo/scenes.ts';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { useBrowser } from '../../support/browser/browser.ts';
import { type ConsoleService, openConsole } from '../../support/browser/console-pages.ts';
import { addTeam } from '../../support/internals/rows.ts';
import { recordComparison } from '../../support/service/comparison.ts';
import { received } from '../../support/stripe/events.ts';
import { openAccount } from '../../support/stripe/reconciled-account.ts';

const FOLDER = resolve(import.meta.dirname, '../../../docs/img');
const MAX_BYTES = 200_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

const browser = useBrowser();
let pages: ConsoleService;

/** The data of the demo, and companies with a problem, until now. */
beforeAll(async () => {
  const account = await openAccount(PRODUCT_NAMES);
  const { database, ingest, subscriptions, environment } = account;
  const { query } = database;
  const nowMs = Date.now();
  const endMs = nowMs - 100 * SECOND_MS;
  await addTeam(query, { name: "Ada's team", customerId: 'cus_ada' });

  /** What happens to the subscription of a company, minutes ago. */
  const happen = (name: string, minutesAgo: number, fields: object, how?: 'missed') => {
    const ids = { customerId: `cus_${name}`, subscriptionId: `sub_${name}` };
    const createdSeconds = Math.floor((endMs - minutesAgo * MINUTE_MS) / SECOND_MS);
    return account.happen({ ...ids, productId: 'prod_pro', createdSeconds, ...fields }, how);
  };
  // The app has not stored the customer.
  await addTeam(query, { name: 'Driftwood Couriers', customerId: null });
  await happen('driftwood', 40, {});
  // The cancellation event has not arrived.
  await addTeam(query, { name: 'Foxglove Legal', customerId: 'cus_foxglove' });
  await happen('foxglove', 170, {});
  await happen('foxglove', 50, { status: 'canceled' }, 'missed');
  // The application has written another plan.
  const moonraker = await addTeam(query, { name: 'Moonraker', customerId: 'cus_moonraker' });
  await happen('moonraker', 160, { productId: 'prod_starter' });
  const another = `update teams set provider_product_id = 'prod_pro', plan_name = 'Pro' where id = $1`;
  await query(another, [moonraker]);

  await addCompanies({ query, ingest, subscriptions, endMs });
  const scenes = walkthrough(Math.floor(nowMs / SECOND_MS) - 80);
  for (const event of inTrueOrder(scenes)) subscriptions.set(event.data.object);
  for (const { event, isForged = false } of scenes) {
    if (!isForged) await ingest([received(JSON.stringify(event), event.created * SECOND_MS)]);
  }
  // As if each event had changed its team when it arrived.
  await query(
    `update instep.plan_changes
        set changed_at = received_at
       from instep.events
      where events.event_id = plan_changes.event_id`,
  );
  await account.compare();
  await recordComparison(query, nowMs - 12 * MINUTE_MS);
  pages = await openConsole(database, { apiBase: environment.STRIPE_API_BASE ?? '' });
});

const openTeam = (page: Page) =>
  page.getByRole('main').getByRole('link', { name: "Ada's team" }).click();

test.each([
  ['team', "/teams?search=Ada's+team", openTeam],
  ['overview', '/?live=off', async () => undefined],
] as const)('%s', async (name, path, act) => {
  const viewport = { width: 1_280, height: 1_230 };
  const page = await browser.newPage({ reducedMotion: 'reduce', viewport });
  await page.goto(pages.url + path);
  await act(page);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.waitForLoadState('networkidle');
    const file = join(FOLDER, `${name}-${colorScheme}.png`);
    await page.screenshot({ path: file });
    expect(statSync(file).size).toBeLessThan(MAX_BYTES);
  }
});
