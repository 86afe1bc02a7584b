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
import { type Consoles, DOCS_SHOTS, SHOTS } from './pages.ts';
import { addProblems, type Problems } from './problems.ts';
import { NOW_MS, setUp } from './scenery.ts';

const DOCS = resolve(import.meta.dirname, '../../../docs/img');

/** `SCREENSHOTS=folder npm run screenshots` takes each page and state in all sizes, for review. */
const FOLDER = process.env.SCREENSHOTS ?? DOCS;
const isForDocs = FOLDER === DOCS;
const MAX_BYTES = 200_000;

const THEMES = (isForDocs ? [1_280] : [1_440, 820, PHONE.width]).flatMap((width) =>
  (['light', 'dark'] as const).map((scheme) => ({ width, scheme })),
);

const browser = useBrowser();
let stripe: FakeStripeApi;
let consoles: Consoles;
let problems: Problems;

beforeAll(async () => {
  mkdirSync(FOLDER, { recursive: true });
  const [demo, empty, calm] = await Promise.all([
    createDatabase(),
    createDatabase(),
    createDatabase(),
  ]);
  stripe = await setUp(demo.database);
  problems = await addProblems(demo.database);
  await addTeam(calm.database.query, { name: 'Calm', customerId: 'cus_calm' });
  await openPipeline(calm.database)([receivedEvent({ customerId: 'cus_calm' })]);
  await recordComparison(calm.database.query, NOW_MS - 12 * 60_000);
  const options = { apiBase: stripe.url, now: () => NOW_MS };
  const checkToken = async () => 'wrong' as const;
  consoles = {
    demo: await openConsole(demo.database, options),
    guarded: await openConsole(demo.database, {
      access: { kind: 'login', tokens: [SHARED_TOKEN], checkToken },
    }),
    empty: await openConsole(empty.database, options),
    calm: await openConsole(calm.database, options),
  };
});
afterAll(() => stripe?.close());

test.each(isForDocs ? DOCS_SHOTS : SHOTS)('$name', async ({ name, of = 'demo', path, act }) => {
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  await page.goto(consoles[of].url + (typeof path === 'string' ? path : path(problems)));
  await act?.(page);
  for (const { width, scheme } of THEMES) {
    await page.setViewportSize({ width, height: isForDocs ? 1_230 : 900 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForLoadState('networkidle');
    const file = join(FOLDER, `${name}-${isForDocs ? '' : `${width}-`}${scheme}.png`);
    if (!isForDocs) {
      expect.soft(await layoutProblems(page)).toEqual([]);
      // What is in view while the page scrolls is then at its own place.
      const height = await page.evaluate<number>('document.documentElement.scrollHeight');
      await page.setViewportSize({ width, height });
    }
    await page.screenshot({ path: file });
    if (isForDocs) expect(statSync(file).size).toBeLessThan(MAX_BYTES);
  }
  if (!isForDocs) {
    await page.emulateMedia({ media: 'print', colorScheme: 'light' });
    await page.setViewportSize({ width: 720, height: 1_000 });
    await page.screenshot({ path: join(FOLDER, `${name}-print.png`), fullPage: true });
  }
  browser.takeProblems();
});
