import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { launchChromium } from './chromium.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A desk's screen, and a phone's. */
export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 375, height: 740 };

/** A browser as long as the tests of a file run; whatever a page complains of fails its test. */
export function useBrowser() {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    expect(complaints.splice(0)).toEqual([]);
  });

  return {
    /** What pages have complained of until now; and forgets it. */
    takeComplaints: () => complaints.splice(0),

    /** A page of somebody new, who has no cookies. */
    async newPage(options: BrowserContextOptions = {}): Promise<Page> {
      const context = await browser.newContext({ viewport: DESK, timezoneId: 'UTC', ...options });
      contexts.push(context);
      const page = await context.newPage();
      watch(page, (complaint) => complaints.push(`${page.url()}: ${complaint}`));
      return page;
    },
  };
}

/** Hears of requests to other hosts, of what the page may not do, and of errors of its scripts. */
function watch(page: Page, complain: (complaint: string) => void): void {
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    const isOurs = hostname === '127.0.0.1' || protocol === 'data:';
    if (!isOurs) complain(`asks another host: ${request.url()}`);
  });
  page.on('response', (response) => {
    const isPart = !response.request().isNavigationRequest();
    if (isPart && response.status() >= 400) complain(`${response.status()} ${response.url()}`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // A page that is left, or reloaded, ends the requests that it had begun.
    if (reason !== 'net::ERR_ABORTED') complain(`${reason}: ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    complain(`something says: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => complain(`a script failed: ${error.message}`));
  page.on('console', (message) => {
    // The status of a page that somebody went to is the test's own matter.
    const isStatus = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isStatus) complain(`the console says: ${message.text()}`);
  });
}

/** What axe finds on the page as it is now that is serious or critical. */
export async function seriousFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}

/** How many pixels the page is wider than its window. */
export async function overhang(page: Page): Promise<number> {
  return await page.evaluate<number>(
    'document.scrollingElement.scrollWidth - document.documentElement.clientWidth',
  );
}

/** How wide the first text is that this selector finds: its own width, not that of its block. */
export async function textWidth(page: Page, selector: string): Promise<number> {
  return await page.evaluate<number>(`(() => {
    const range = document.createRange();
    range.selectNodeContents(document.querySelector(${JSON.stringify(selector)}));
    return range.getBoundingClientRect().width;
  })()`);
}
