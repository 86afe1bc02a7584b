import { describe, expect, test } from 'vitest';
import { openBrowsedInstep } from '../support/browser/browsed-instep.ts';
import {
  axeViolations,
  colorViolations,
  DESKTOP,
  overhang,
  PHONE,
  targetViolations,
  useBrowser,
} from '../support/browser/browser.ts';
import { layoutProblems } from '../support/browser/layout.ts';
import { someOf } from '../support/test-length.ts';

/** Names of teams, customers and events that attack a page. */
const HOSTILE = {
  /** Markup that runs a script if it is not escaped. */
  script: `<script>alert('team')</script>`,
  image: `cus_<img src=x onerror="alert('customer')">`,
  attribute: `evt_"'><svg onload=alert('event')>`,
  entity: '&lt;b&gt; &amp;amp; is no markup either',
  /** Reverses the writing direction of the text after it. */
  rightToLeft: 'Invoice \u202Egpj.exe \u05D0\u05D1\u05D2 \u0627\u0644\u0641\u0631\u064A\u0642',
  /** 10 kB without a line break opportunity. */
  long: 'W'.repeat(10_000),
};

const browser = useBrowser();
const instep = await openBrowsedInstep();

const customerId = HOSTILE.image;
const teams = {
  script: await instep.addTeam(HOSTILE.script, customerId),
  rightToLeft: await instep.addTeam(HOSTILE.rightToLeft, HOSTILE.entity),
  long: await instep.addTeam(HOSTILE.long, 'cus_long'),
  unlinked: await instep.addTeam('Unlinked'),
};
const createdSeconds = Date.UTC(2026, 0, 2, 20, 30) / 1_000;
const subscriptionId = `sub_${HOSTILE.script}`;
const productId = `prod_${HOSTILE.rightToLeft}`;
const fields = { customerId, subscriptionId, productId };
await instep.happen({ ...fields, eventId: HOSTILE.attribute, createdSeconds });
await instep.happen({ ...fields, eventId: `${HOSTILE.attribute} 2`, status: HOSTILE.script });
await instep.happen({ customerId: HOSTILE.entity, eventId: HOSTILE.rightToLeft });
await instep.happen({ customerId: 'cus_long', subscriptionId: `sub_${HOSTILE.long}` });
for (const id of ['sub_first', 'sub_second']) {
  await instep.happen({ customerId: 'cus_long', subscriptionId: id });
}
await instep.happen({ customerId: `${HOSTILE.image} 2`, eventId: 'evt_parked' });
const events = await instep.database.query<{ position: number; outcome: string }>(
  'select position, outcome from instep.events order by position',
);
const positionOf = (wanted: string) =>
  events.find(({ outcome }) => outcome === wanted)?.position ?? 0;

/** Pages, each with untrusted text that it shows. */
const PAGES = [
  ['the overview', '/?live=off', null],
  ['a team', `/teams/${teams.script}`, HOSTILE.script],
  ['what needs attention', '/attention?select=all', `${HOSTILE.image} 2`],
  ['the teams', '/teams', HOSTILE.script],
  ['the search', `/teams?search=${encodeURIComponent(HOSTILE.image.slice(0, 4))}`, null],
  ['a search without results', `/teams?search=${encodeURIComponent(HOSTILE.image)}`, null],
  ['a team with a right-to-left name', `/teams/${teams.rightToLeft}`, HOSTILE.entity],
  ['a team with a long name', `/teams/${teams.long}`, HOSTILE.long.slice(0, 40)],
  ['the events', '/events', HOSTILE.attribute],
  ['the events with an invalid filter', '/events?from=yesterday', null],
  ['an event', `/events/${events[0]?.position}`, HOSTILE.attribute],
  ['an unreadable event', `/events/${positionOf('unreadable')}`, null],
  ['the comparison', '/compare', null],
  ['a missing page', '/teams/999999', null],
  ['what operators did', '/actions', null],
  ['a parked event', `/events/${positionOf('parked')}`, `${HOSTILE.image} 2`],
  ['a team without a customer', `/teams/${teams.unlinked}`, `${HOSTILE.image} 2`],
] as const;

/** The widest and the narrowest of the usual fonts, with the metrics of Arial, where they are installed. */
const FONTS = ['DejaVu Sans', 'Liberation Sans'];

/** A page of A4 within its margins. */
const PAPER = { width: 718, height: 1_000 };

describe.each(someOf(3, PAGES))('%s', (_, path, untrusted) => {
  test('axe finds nothing, in light, dark and on a phone', async () => {
    // In the middle of a transition the contrast is undefined.
    const page = await browser.newPage({ reducedMotion: 'reduce' });
    await page.goto(instep.url + path);
    expect(await axeViolations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await colorViolations(page)).toEqual([]);
    await page.setViewportSize(PHONE);
    expect(await axeViolations(page)).toEqual([]);
  });

  test('fits every width: nothing is outside of the screen, cut off or covered, and a finger hits all', async () => {
    const page = await browser.newPage({ viewport: PHONE, hasTouch: true });
    await page.goto(instep.url + path);
    for (const width of [PHONE.width, 720, 820, 1_000, DESKTOP.width, 1_440]) {
      await page.setViewportSize({ ...DESKTOP, width });
      for (const font of FONTS) {
        await page.evaluate(`document.documentElement.style.fontFamily = '${font}'`);
        await expect.poll(() => overhang(page)).toBe(0);
        expect(await layoutProblems(page)).toEqual([]);
      }
      // Nothing that stays in view covers a part of a target then.
      const height = await page.evaluate<number>('document.documentElement.scrollHeight');
      await page.setViewportSize({ width, height });
      expect(await targetViolations(page)).toEqual([]);
    }
  });

  test('works without scripts', async () => {
    const page = await browser.newPage({ javaScriptEnabled: false });
    await page.goto(instep.url + path);
    expect((await page.locator('h1').textContent())?.length).toBeGreaterThan(0);
    expect(await page.getByText('undefined').count()).toBe(0);
  });

  test('is printed with all that it says, and nothing to press', async () => {
    const page = await browser.newPage({ viewport: PAPER });
    await page.goto(instep.url + path);
    await page.emulateMedia({ media: 'print' });
    const printed = await page.locator('main').innerText();
    if (untrusted !== null) expect(printed).toContain(untrusted);
    expect(printed.length).toBeGreaterThan(20);
    const onScreenOnly = 'nav, button, input, select, textarea, summary, .bar, .toolbar';
    expect(await page.locator(onScreenOnly).filter({ visible: true }).allInnerTexts()).toEqual([]);
    const cells = await page.locator('.cards td').filter({ visible: true }).allInnerTexts();
    expect(cells.filter((text) => text.trim() === '')).toEqual([]);
  });

  test('escapes untrusted text', async () => {
    const page = await browser.newPage();
    await page.goto(instep.url + path);
    if (untrusted !== null) {
      expect(await page.locator('main').textContent()).toContain(untrusted);
    }
    expect(await page.locator('main svg[onload], main img, main script').count()).toBe(0);
    // No writing direction that starts in a name continues after it.
    expect(await page.evaluate(OPEN_TEXTS)).toEqual([]);
  });
});

/** Text that changes the writing direction outside an element that isolates it. */
const OPEN_TEXTS = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const open = [];
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (/[\\u202A-\\u202E]/.test(data) && parentElement.closest('bdi, svg') === null) open.push(data);
  }
  return open;
})()`;
