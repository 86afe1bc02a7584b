import type { Page } from 'playwright-core';
import { afterAll, afterEach, expect, test } from 'vitest';
import { expectText, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { type Behavior, startProxy } from '../support/network/tcp-proxy.ts';
import { connect, createDatabase } from '../support/postgres/test-database.ts';
import { recordComparison } from '../support/service/comparison.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const browser = useBrowser();
const { database, url } = await createDatabase();

await addTeam(database.query, { name: 'Live', customerId: 'cus_live' });
const createdSeconds = Math.floor(Date.now() / 1_000);
await openPipeline(database)([receivedEvent({ customerId: 'cus_live', createdSeconds })]);
await recordComparison(database.query);
const proxy = await startProxy(url);
const pages = await openConsole(connect(proxy.url));
afterAll(async () => await proxy.close());

afterEach(() => proxy.become('forward'));

/** Longer than the deadline of a page, after the time until the next refresh. */
const NOTICE_TIMEOUT_MS = 40_000;

const OUTDATED = /Showing data from \d+:\d\d:\d\d.[AP]M\. Retrying…/;

async function openOverview(): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(pages.url);
  await page.locator('[data-verdict=in-sync]').waitFor();
  return page;
}

/** Whether the health has lost its color. */
async function isGray(page: Page): Promise<boolean> {
  return await page.evaluate<boolean>(`(() => {
    const color = (selector) => getComputedStyle(document.querySelector(selector)).color;
    return color('.health strong') === color('h1');
  })()`);
}

test.each<[string, Behavior]>([
  ['refuses connections', 'refuse'],
  ['is frozen', 'swallow'],
])('the overview is not green while PostgreSQL %s', { timeout: 90_000 }, async (_, behavior) => {
  const page = await openOverview();
  expect(await isGray(page)).toBe(false);
  await proxy.become(behavior);
  const notice = page.getByRole('alert');
  await expect
    .poll(() => notice.innerText(), { timeout: NOTICE_TIMEOUT_MS })
    .toMatch(/PostgreSQL does not answer|The page took too long/);
  expect(await isGray(page)).toBe(true);
  const text = await page.locator('main').innerText();
  expect(text).toMatch(OUTDATED);
  expect(text).toMatch(/At .*M, this was: In sync\. The current state is unknown\./);

  await proxy.become('forward');
  await expectText(page.locator('[data-verdict=in-sync]')).not.toContain('unknown');
  await expectText(notice).toBe('');
  expect(await isGray(page)).toBe(false);
  browser.takeProblems();
});

test('a new event appears by itself, and the reader keeps place and focus', async () => {
  const page = await openOverview();
  await page.getByRole('link', { name: 'applied', exact: true }).focus();
  await page.evaluate('window.isTheSamePage = true');
  const late = receivedEvent({ customerId: 'cus_live', createdSeconds: 1_000 });
  await openPipeline(database)([{ ...late, receivedAtMs: Date.now() }]);
  await expectText(page.getByRole('region', { name: 'Events of the last day' })).toMatch(/stale 1/);
  expect(await page.evaluate('window.isTheSamePage')).toBe(true);
  expect(await page.locator(':focus').innerText()).toBe('applied');
  // The checks were loaded into it.
  await page.getByText('npx instep doctor').waitFor();
  expect(await page.title()).toBe('Overview · Instep');
});

test('a page whose updates are off says so, and is not green, after a minute', async () => {
  const page = await browser.newPage();
  await page.clock.install();
  await page.goto(`${pages.url}/?live=off`);
  await page.clock.fastForward(30_000);
  expect(await isGray(page)).toBe(false);
  await page.clock.fastForward(31_000);
  await expectText(page).toMatch(/Showing data from .*\. Updates are off\./);
  expect(await isGray(page)).toBe(true);
});

const REFRESHES = 100;

/** More would be 50 MB in a week. */
const MAX_BYTES_PER_REFRESH = 50_000_000 / ((7 * 24 * 3_600) / 5);

test('a week of refreshes does not need more memory', { timeout: 400_000 }, async () => {
  const page = await openOverview();
  const body = await (await pages.fetch('/')).text();
  // Tests only the page, without waiting for the server.
  await page.route(
    (one) => one.pathname === '/',
    (route) => route.fulfill({ body, contentType: 'text/html' }),
  );
  const session = await page.context().newCDPSession(page);
  async function measure() {
    // Browsers keep the timings of 250 requests.
    await page.evaluate('performance.clearResourceTimings()');
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
    return { usedSize, nodes, jsEventListeners };
  }
  const refresh = (times: number) =>
    page.evaluate(`(async () => {
      for (let turn = 0; turn < ${times}; turn += 1) {
        const settled = new Promise((resolve) => {
          document.addEventListener('htmx:afterSettle', resolve, { once: true });
        });
        htmx.trigger('#overview', 'refresh');
        await settled;
      }
    })()`);
  // Warms up the engine, which compiles and caches the code of a refresh.
  await refresh(150);
  const before = await measure();
  await refresh(REFRESHES);
  const { usedSize, ...counts } = await measure();
  expect(usedSize - before.usedSize).toBeLessThan(REFRESHES * MAX_BYTES_PER_REFRESH);
  expect(counts).toEqual({ nodes: before.nodes, jsEventListeners: before.jsEventListeners });
});
