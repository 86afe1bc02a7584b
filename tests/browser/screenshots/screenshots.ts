import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FakeStripeApi } from '../../../src/testing/stripe-api/server.ts';
import { expectText, PHONE, useBrowser } from '../../support/browser/browser.ts';
import { type ConsoleService, openConsole } from '../../support/browser/console-pages.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { OPERATIONS_TOKEN } from '../../support/secrets/canaries.ts';
import { NOW_MS, setUp } from './scenery.ts';

const DOCS = resolve(import.meta.dirname, '../../../docs/img');

/** `SCREENSHOTS=folder npm run screenshots` takes complete pages in all sizes, for review. */
const FOLDER = process.env.SCREENSHOTS ?? DOCS;
const MAX_BYTES = 150_000;

const browser = useBrowser();
let stripe: FakeStripeApi;
let service: ConsoleService;
let guarded: ConsoleService;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  const { database } = await createDatabase();
  stripe = await setUp(database);
  service = await openConsole(database, { apiBase: stripe.url, now: () => NOW_MS });
  guarded = await openConsole(database, { token: OPERATIONS_TOKEN });
});
afterAll(() => stripe?.close());

const DESK = { width: 1120, height: 800 };
const THEMES: [string, BrowserContextOptions][] =
  FOLDER === DOCS
    ? [
        ['light', { viewport: DESK }],
        ['dark', { viewport: DESK, colorScheme: 'dark' }],
        ['phone', { viewport: PHONE, colorScheme: 'dark' }],
      ]
    : [1_440, 1_280, PHONE.width].flatMap((width) =>
        (['light', 'dark'] as const).map((colorScheme): [string, BrowserContextOptions] => [
          `${width}-${colorScheme}`,
          { viewport: { width, height: 900 }, colorScheme },
        ]),
      );

/** How to get to each page from the overview. */
const PAGES: [string, (page: Page) => Promise<void>][] = [
  [
    'login',
    async (page) => {
      await page.goto(guarded.url);
    },
  ],
  ['overview', async () => undefined],
  ['attention', (page) => goTo(page, 'Attention')],
  ['teams', (page) => goTo(page, 'Teams')],
  [
    'team',
    async (page) => {
      await goTo(page, 'Teams');
      await page.getByRole('link', { name: "Ada's team" }).click();
    },
  ],
  ['events', (page) => goTo(page, 'Events')],
  [
    'event',
    async (page) => {
      await page.goto(new URL('/events?outcome=stale', service.url).href);
      await page.getByRole('link', { name: /^evt_/ }).first().click();
    },
  ],
  [
    'reconcile',
    async (page) => {
      await goTo(page, 'Reconcile');
      await page.getByRole('button', { name: 'Start a dry run' }).click();
      await expectText(page).toContain('Finished');
      await goTo(page, 'Reconcile');
    },
  ],
];

/** Pages that are not in the docs. */
const OTHER_PAGES: [string, string][] = [
  ['overview-day', '/?range=day&live=off'],
  ['overview-week', '/?range=week&live=off'],
  ['search', '/search?q=team'],
  ['team-compared', '/teams/1?compare=yes'],
  ['team-with-many-events', '/teams/2'],
  ['events-none', '/events?event=evt_none'],
  ['events-filter', '/events?from=yesterday'],
  ['repair', '/reconcile/repair'],
  ['problem', '/nothing'],
];

if (FOLDER !== DOCS) {
  for (const [name, path] of OTHER_PAGES) {
    PAGES.push([name, async (page) => void (await page.goto(new URL(path, service.url).href))]);
  }
}

async function goTo(page: Page, area: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Areas' }).getByRole('link', { name: area }).click();
}

test.each(PAGES)('%s', async (name, goThere) => {
  for (const [theme, options] of THEMES) {
    const page = await browser.newPage({ ...options, reducedMotion: 'reduce' });
    await page.goto(new URL('/?live=off', service.url).href);
    await goThere(page);
    await page.waitForLoadState('networkidle');
    // The timeline is below the first screen.
    if (name === 'team' && FOLDER === DOCS) {
      await page.setViewportSize({ ...(page.viewportSize() ?? DESK), height: 1_230 });
    }
    const path = join(FOLDER, `${name}-${theme}.png`);
    await page.screenshot({ path, fullPage: FOLDER !== DOCS });
    if (FOLDER === DOCS) expect(statSync(path).size).toBeLessThan(MAX_BYTES);
  }
});
