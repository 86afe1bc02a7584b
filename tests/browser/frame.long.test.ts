import { jsx } from 'hono/jsx';
import { Badge, OutcomeBadge, StatusBadge } from 'instep-console/src/components/badges.tsx';
import { Button, Field, Select } from 'instep-console/src/components/form.tsx';
import { Facts, Notice, Panel } from 'instep-console/src/components/panels.tsx';
import { Table } from 'instep-console/src/components/table.tsx';
import { Time, UntrustedText } from 'instep-console/src/components/text.tsx';
import { Page } from 'instep-console/src/page.tsx';
import type { createPages } from 'instep-console/src/pages.tsx';
import { describe, expect, test } from 'vitest';
import {
  axeViolations,
  DESKTOP,
  expectText,
  overhang,
  PHONE,
  useBrowser,
} from '../support/browser/browser.ts';
import { useConsole } from '../support/service/console-service.ts';

const AT_MS = Date.UTC(2026, 1, 3, 23, 30);
const LONG = 'sub_'.padEnd(10_000, 'x');

const row = (text: string, outcome: 'applied' | 'stale' | 'parked' | 'unreadable') => [
  Time({ ms: AT_MS }),
  OutcomeBadge({ outcome }),
  'customer.subscription.updated',
  UntrustedText({ text }),
  '1,234',
];

/** A page with every shared component. */
function specimen() {
  return jsx(
    'div',
    {},
    jsx('form', { class: 'row' }, [
      Field({ label: 'Search', name: 'q', type: 'search', hint: 'A name or an id.' }),
      Field({ label: 'From', name: 'from', error: 'must be a time', value: 'x' }),
      Select({ label: 'Outcome', name: 'outcome', any: 'all', options: ['applied'], value: '' }),
      Button({ kind: 'main', children: 'Search' }),
      Button({ children: 'Cancel' }),
    ]),
    jsx('div', {}, [
      Panel({
        title: 'Team',
        id: 'team',
        children: Facts({
          facts: [
            ['Name', UntrustedText({ text: '\u202E<script>alert(1)</script>' })],
            ['Status', StatusBadge({ status: 'active' })],
            ['Before', StatusBadge({ status: null })],
            ['Since', Time({ ms: AT_MS })],
            ['Subscription', UntrustedText({ text: LONG })],
          ],
        }),
      }),
      Panel({
        title: 'Sync',
        id: 'sync',
        children: Notice({ kind: 'empty', title: 'Not counted yet', children: 'Wait.' }),
      }),
    ]),
    jsx('p', {}, [
      Badge({ tone: 'good', children: 'good' }),
      ' ',
      Badge({ tone: 'warning', children: 'warning' }),
      ' ',
      Badge({ tone: 'bad', children: 'bad' }),
      ' ',
      Badge({ tone: 'accent', children: 'accent' }),
    ]),
    Table({
      label: 'Events',
      columns: ['At', 'Outcome', 'Type', 'Subscription', { name: 'Bytes', class: 'end' }],
      rows: [
        row('sub_1', 'applied'),
        row('sub_2', 'stale'),
        row(LONG, 'parked'),
        row('אבג', 'unreadable'),
      ],
    }),
    jsx('button', { class: 'button quiet', 'hx-get': '/part', 'hx-target': '#part' }, 'Load'),
    jsx('button', { class: 'button quiet', 'hx-get': '/nothing', 'hx-target': '#part' }, 'Fail'),
    jsx('div', { id: 'part' }),
  );
}

const extend = (app: ReturnType<typeof createPages>) => {
  app.get('/specimen', (context) =>
    context.render(Page({ title: 'Specimen', area: 'Events', children: specimen() })),
  );
  app.get('/part', (context) => context.render(Time({ ms: AT_MS })));
};

const local = useConsole({ extend });
const browser = useBrowser();

describe('the frame of every page', () => {
  test.each([
    ['on a desktop', { viewport: DESKTOP }],
    ['on a desktop, dark', { viewport: DESKTOP, colorScheme: 'dark' as const }],
    ['on a phone', { viewport: PHONE }],
    ['on a phone, dark', { viewport: PHONE, colorScheme: 'dark' as const }],
  ])('is accessible %s', async (_, options) => {
    const page = await browser.newPage(options);
    await page.goto(`${local.url}/specimen`);
    expect(await overhang(page)).toBe(0);
    expect(await axeViolations(page)).toEqual([]);
  });

  test("shows times in the reader's zone, also in parts that load later", async () => {
    const page = await browser.newPage({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' });
    await page.goto(`${local.url}/specimen`);
    const time = page.locator('#team time');
    expect(await time.textContent()).toBe('4 Feb 2026, 08:30:00');
    expect(await time.getAttribute('title')).toBe('2026-02-03 23:30:00.000 UTC');
    await page.getByRole('button', { name: 'Load' }).click();
    await expectText(page.locator('#part time')).toBe('4 Feb 2026, 08:30:00');
  });

  test('shows why a part could not be loaded, until a later request succeeds', async () => {
    const page = await browser.newPage();
    await page.goto(`${local.url}/specimen`);
    await page.getByRole('button', { name: 'Fail' }).click();
    const notice = page.getByRole('alert');
    await expectText(notice).toContain('Not found');
    expect(await page.locator('#part').textContent()).toBe('');
    await page.getByRole('button', { name: 'Load' }).click();
    await expectText(page.locator('#part')).toContain('2026');
    expect(await notice.textContent()).toBe('');
    await page.route('**/part', (route) => route.abort());
    await page.getByRole('button', { name: 'Load' }).click();
    await expectText(notice).toContain('The server does not answer');
    expect(browser.takeProblems()).not.toEqual([]);
  });
});
