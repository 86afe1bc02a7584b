import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FakeStripeApi } from 'instep/testing';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useBrowser } from '../../support/browser/browser.ts';
import { type ConsoleService, openConsole } from '../../support/browser/console-pages.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { NOW_MS, setUp } from './scenery.ts';

const FOLDER = resolve(import.meta.dirname, '../../../docs/img');
const MAX_BYTES = 200_000;

const browser = useBrowser();
let stripe: FakeStripeApi;
let pages: ConsoleService;

beforeAll(async () => {
  const { database } = await createDatabase();
  stripe = await setUp(database);
  pages = await openConsole(database, { apiBase: stripe.url, now: () => NOW_MS });
});
afterAll(() => stripe?.close());

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
