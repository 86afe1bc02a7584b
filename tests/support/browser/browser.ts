import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Locator,
  Page,
} from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchChromium } from './chromium.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 375, height: 740 };

const TEXT_TIMEOUT_MS = 15_000;

/** A browser for the tests of a file. A test fails when one of its pages reports a problem. */
export function useBrowser() {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const problems: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(problems.splice(0)).toEqual([]);
  });

  return {
    /** Returns and clears the problems so far, for tests that expect them. */
    takeProblems: () => problems.splice(0),

    /** A page of a new user, without cookies. */
    async newPage(options: BrowserContextOptions = {}): Promise<Page> {
      const context = await browser.newContext({
        viewport: DESKTOP,
        timezoneId: 'UTC',
        ...options,
      });
      contexts.push(context);
      const page = await context.newPage();
      watch(page, (problem) => problems.push(`${page.url()}: ${problem}`));
      return page;
    },
  };
}

/** Reports requests to other hosts, failed requests, policy violations and script errors. */
function watch(page: Page, report: (problem: string) => void): void {
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    const isOurs = hostname === '127.0.0.1' || protocol === 'data:';
    if (!isOurs) report(`requests from another host: ${request.url()}`);
  });
  page.on('response', (response) => {
    const isPart = !response.request().isNavigationRequest();
    if (isPart && response.status() >= 400) report(`${response.status()} ${response.url()}`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // Navigation aborts the requests of the page.
    if (reason !== 'net::ERR_ABORTED') report(`${reason}: ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    report(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => report(`script error: ${error.message}`));
  page.on('console', (message) => {
    // The tests check the status of the pages that they navigate to.
    const isStatus = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isStatus) report(`console error: ${message.text()}`);
  });
}

/**
 * Polls the visible text, by default of the page's content. A failure shows that text: `await
 * expectText(page).toContain('1 repaired')`.
 */
export function expectText(where: Page | Locator) {
  const locator = 'goto' in where ? where.locator('main') : where;
  return expect.poll(() => locator.innerText(), { timeout: TEXT_TIMEOUT_MS });
}

/** What axe finds on the page, however serious. */
export const axeViolations = (page: Page): Promise<string[]> => violationsOf(page, 'axe.run()');

/** What axe finds in the colors, for a page that has passed the other rules in another theme. */
export const colorViolations = (page: Page): Promise<string[]> =>
  violationsOf(
    page,
    `axe.run({ runOnly: { type: 'rule', values: ${JSON.stringify(OF_COLORS)} } })`,
  );

const OF_COLORS = ['color-contrast', 'link-in-text-block'];

/** Controls that are smaller than 24 pixels and too close to others (WCAG 2.5.8). */
export const targetViolations = (page: Page): Promise<string[]> =>
  violationsOf(page, "axe.run({ runOnly: { type: 'rule', values: ['target-size'] } })");

async function violationsOf(page: Page, run: string): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>(run);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`),
  );
}

/** The number of pixels by which the page is wider than its window. */
export async function overhang(page: Page): Promise<number> {
  return await page.evaluate<number>(
    'document.scrollingElement.scrollWidth - document.documentElement.clientWidth',
  );
}
