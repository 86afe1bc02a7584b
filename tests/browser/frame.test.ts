import { jsx } from 'hono/jsx';
import { describe, expect, test } from 'vitest';
import { Badge } from '../../src/operations/console/components/badge.tsx';
import { Button } from '../../src/operations/console/components/button.tsx';
import { EmptyState } from '../../src/operations/console/components/empty-state.tsx';
import { Facts } from '../../src/operations/console/components/facts.tsx';
import { Field } from '../../src/operations/console/components/field.tsx';
import { Moment } from '../../src/operations/console/components/moment.tsx';
import { OutcomeBadge } from '../../src/operations/console/components/outcome-badge.tsx';
import { Panel } from '../../src/operations/console/components/panel.tsx';
import { Select } from '../../src/operations/console/components/select.tsx';
import { StatusBadge } from '../../src/operations/console/components/status-badge.tsx';
import { Table } from '../../src/operations/console/components/table.tsx';
import { UntrustedText } from '../../src/operations/console/components/untrusted-text.tsx';
import type { createConsole } from '../../src/operations/console/console.tsx';
import { Page } from '../../src/operations/console/page.tsx';
import { DESK, overhang, PHONE, seriousFaults, useBrowser } from '../support/browser/browser.ts';
import { OPERATIONS_TOKEN } from '../support/secrets/canaries.ts';
import { useConsole } from '../support/service/console-service.ts';

const AT = new Date('2026-02-03T23:30:00Z');
const LONG = 'sub_'.padEnd(10_000, 'x');

const row = (text: string, outcome: 'applied' | 'stale' | 'parked' | 'unreadable') =>
  jsx(
    'tr',
    {},
    jsx('td', {}, Moment({ at: AT })),
    jsx('td', {}, OutcomeBadge({ outcome })),
    jsx('td', {}, 'customer.subscription.updated'),
    jsx('td', {}, UntrustedText({ text })),
    jsx('td', { class: 'end' }, '1,234'),
  );

/** A page with everything that pages share. */
function specimen() {
  return jsx(
    'div',
    {},
    jsx('form', { class: 'row' }, [
      Field({ label: 'Search', name: 'q', type: 'search', hint: 'A name or an id.' }),
      Field({ label: 'From', name: 'from', error: 'must be a time', value: 'x' }),
      Select({
        label: 'Outcome',
        name: 'outcome',
        options: [{ value: '', label: 'all' }],
        value: '',
      }),
      Button({ kind: 'main', children: 'Search' }),
      Button({ kind: 'danger', children: 'Repair' }),
      Button({ children: 'Cancel' }),
    ]),
    jsx('div', { class: 'panels' }, [
      Panel({
        title: 'Team',
        id: 'team',
        children: Facts({
          facts: [
            ['Name', UntrustedText({ text: '\u202E<script>alert(1)</script>' })],
            ['Status', StatusBadge({ status: 'active' })],
            ['Before', StatusBadge({ status: null })],
            ['Since', Moment({ at: AT })],
            ['Subscription', UntrustedText({ text: LONG })],
          ],
        }),
      }),
      Panel({
        title: 'Out of step',
        id: 'out-of-step',
        children: EmptyState({ title: 'Nothing is', children: 'Nobody has to do anything.' }),
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
      columns: ['At', 'Outcome', 'Type', 'Subscription', { name: 'Bytes', align: 'end' }],
      children: [
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

const extend = (app: ReturnType<typeof createConsole>) => {
  app.get('/specimen', (context) =>
    context.html(Page({ title: 'Specimen', area: 'Events', children: specimen() })),
  );
  app.get('/part', (context) => context.html(Moment({ at: AT })));
};

const guarded = useConsole({ token: OPERATIONS_TOKEN, extend });
const local = useConsole({ extend });
const browser = useBrowser();

describe('the frame of the pages', () => {
  test.each([
    ['at a desk', { viewport: DESK }],
    ['at a desk, in the dark', { viewport: DESK, colorScheme: 'dark' as const }],
    ['on a phone', { viewport: PHONE }],
    ['on a phone, in the dark', { viewport: PHONE, colorScheme: 'dark' as const }],
  ])('is fit to use %s', async (_, options) => {
    const page = await browser.newPage(options);
    await page.goto(`${local.url}/specimen`);
    expect(await overhang(page)).toBe(0);
    expect(await seriousFaults(page)).toEqual([]);
  });

  test("shows times in the reader's zone, those that come later as well", async () => {
    const page = await browser.newPage({ timezoneId: 'Asia/Tokyo', locale: 'en-GB' });
    await page.goto(`${local.url}/specimen`);
    const time = page.locator('#team time');
    expect(await time.textContent()).toBe('4 Feb 2026, 08:30:00');
    expect(await time.getAttribute('title')).toBe('2026-02-03 23:30:00.000 UTC');
    await page.getByRole('button', { name: 'Load' }).click();
    await page.locator('#part time').waitFor();
    expect(await page.locator('#part time').textContent()).toBe('4 Feb 2026, 08:30:00');
  });

  test('says what went wrong with a part above the page, until something goes well', async () => {
    const page = await browser.newPage();
    await page.goto(`${local.url}/specimen`);
    await page.getByRole('button', { name: 'Fail' }).click();
    const notice = page.getByRole('alert');
    await notice.getByText('Not found').waitFor();
    expect(await page.locator('#part').textContent()).toBe('');
    await page.getByRole('button', { name: 'Load' }).click();
    await page.locator('#part time').waitFor();
    expect(await notice.textContent()).toBe('');
    await page.route('**/part', (route) => route.abort());
    await page.getByRole('button', { name: 'Load' }).click();
    await notice.getByText('The server does not answer').waitFor();
    expect(browser.takeComplaints()).not.toEqual([]);
  });

  test('leads past the navigation by keyboard', async () => {
    const page = await browser.newPage();
    await page.goto(`${local.url}/specimen`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.name')).toBe('q');
  });
});

test('somebody logs in by keyboard, after a mistake, and out again', async () => {
  const page = await browser.newPage({ viewport: PHONE });
  await page.goto(`${guarded.url}/specimen`);
  await page.keyboard.type('not the token');
  await page.keyboard.press('Enter');
  await page.getByText('That is not OPS_TOKEN.').waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.keyboard.type(OPERATIONS_TOKEN);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Specimen' }).waitFor();
  expect(await overhang(page)).toBe(0);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Token').waitFor();
});
