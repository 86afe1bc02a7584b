import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FakeStripeApi } from 'instep/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PHONE, useBrowser } from '../../support/browser/browser.ts';
import { openConsole } from '../../support/browser/console-pages.ts';
import { layoutProblems } from '../../support/browser/layout.ts';
import { addTeam } from '../../support/internals/rows.ts';
import { createDatabase } from '../../support/postgres/test-database.ts';
import { SHARED_TOKEN } from '../../support/secrets/test-secrets.ts';
import { recordComparison } from '../../support/service/comparison.ts';
import { openPipeline } from '../../support/service/pipelines.ts';
import { receivedEvent } from '../../support/stripe/events.ts';
import { type Consoles, DOCS_SHOTS, OTHER_SHOTS } from './pages.ts';
import { addProblems, type Problems } from './problems.ts';
import { NOW_MS, setUp } from './scenery.ts';

const DOCS = resolve(import.meta.dirname, '../../../docs/img');

/** `SCREENSHOTS=folder npm run screenshots` takes each page and state in all sizes, for review. */
const FOLDER = process.env.SCREENSHOTS ?? DOCS;
const isForDocs = FOLDER === DOCS;

/** `FONT='Liberation Sans'` shows the pages in the metrics of Arial. */
const FONT = process.env.FONT;
const MAX_BYTES = 200_000;

const DESK = { width: 1_280, height: 800 };
const EXTENTS = [1_440, 820, PHONE.width].map((width) => ({ width, height: 900 }));
const SCHEMES = ['light', 'dark'] as const;
const THEMES = isForDocs
  ? ([
      ['light', DESK, 'light'],
      ['dark', DESK, 'dark'],
      ['phone', PHONE, 'dark'],
    ] as const)
  : EXTENTS.flatMap((extent) =>
      SCHEMES.map((scheme) => [`${extent.width}-${scheme}`, extent, scheme] as const),
    );

const browser = useBrowser();
let stripe: FakeStripeApi;
let consoles: Consoles;
let problems: Problems | null = null;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  const [demo, empty, calm, notCompared] = await Promise.all([
    createDatabase(),
    createDatabase(),
    createDatabase(),
    createDatabase(),
  ]);
  stripe = await setUp(demo.database);
  if (!isForDocs) problems = await addProblems(demo.database);
  for (const { database } of [calm, notCompared]) {
    await addTeam(database.query, { name: 'Calm', customerId: 'cus_calm' });
    await openPipeline(database)([receivedEvent({ customerId: 'cus_calm' })]);
  }
  await recordComparison(calm.database.query, NOW_MS - 12 * 60_000);
  const options = { apiBase: stripe.url, now: () => NOW_MS };
  consoles = {
    demo: await openConsole(demo.database, options),
    guarded: await openConsole(demo.database, {
      apiBase: stripe.url,
      access: {
        kind: 'login',
        tokens: [SHARED_TOKEN],
        checkToken: async (token) => (token === SHARED_TOKEN.token ? SHARED_TOKEN : 'wrong'),
      },
    }),
    empty: await openConsole(empty.database, options),
    calm: await openConsole(calm.database, options),
    notCompared: await openConsole(notCompared.database, options),
  };
});
afterAll(() => stripe?.close());

const SHOTS = isForDocs ? DOCS_SHOTS : [...DOCS_SHOTS, ...OTHER_SHOTS];

test.each(SHOTS)('$name', async ({ name, open }) => {
  const page = await browser.newPage({ viewport: DESK, reducedMotion: 'reduce' });
  await open(page, consoles, problems);
  if (FONT) await page.evaluate(`document.documentElement.style.fontFamily = '${FONT}'`);
  for (const [theme, extent, colorScheme] of THEMES) {
    // The timeline is below the first screen.
    const height = name === 'team' && isForDocs ? 1_230 : extent.height;
    await page.setViewportSize({ ...extent, height });
    await page.emulateMedia({ colorScheme });
    await page.waitForLoadState('networkidle');
    const path = join(FOLDER, `${name}-${theme}.png`);
    if (!isForDocs) {
      expect.soft(await layoutProblems(page)).toEqual([]);
      // What is in view while the page scrolls is then at its own place.
      const length = await page.evaluate<number>('document.documentElement.scrollHeight');
      await page.setViewportSize({ ...extent, height: length });
    }
    await page.screenshot({ path });
    if (isForDocs) expect(statSync(path).size).toBeLessThan(MAX_BYTES);
  }
  browser.takeProblems();
});
