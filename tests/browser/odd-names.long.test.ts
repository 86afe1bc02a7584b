import type { ApplicationId } from 'instep';
import { expect, test } from 'vitest';
import { expectText, overhang, PHONE, useBrowser } from '../support/browser/browser.ts';
import { openConsole } from '../support/browser/console-pages.ts';
import { addTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

const browser = useBrowser();
const { database } = await createDatabase();
const pages = await openConsole(database);

const NAMES = [
  ['blank', ' \u3164\u200B '],
  ['empty', ''],
  ['reversed', '\u202Ereversed \u2066'],
  ['of 10 kB', 'x'.repeat(10_000)],
  ['markup', '<img src=x onerror=alert(1)><script>alert(1)</script>'],
  ['many combining marks', `Zal${'\u0337\u0301'.repeat(200)}go`],
] as const;

const ids = new Map<string, ApplicationId>();
for (const [kind, name] of NAMES) {
  const customerId = `cus_${kind.replaceAll(' ', '_')}`;
  ids.set(kind, await addTeam(database.query, { name, customerId }));
}
await database.query(
  `insert into instep.findings (customer_id, team_id, problem)
   select provider_customer_id, id::text, 'unknown customer' from teams`,
);

test.each(NAMES)('a name that is %s opens its team from every list', async (kind) => {
  const id = ids.get(kind);
  const page = await browser.newPage();
  for (const list of ['/teams', `/teams?search=${id}`, '/attention']) {
    await page.goto(`${pages.url}${list}`);
    const link = page.locator(`a[href="/teams/${id}"]`);
    await expect.poll(async () => (await link.boundingBox())?.width).toBeGreaterThan(20);
    expect((await link.boundingBox())?.height).toBeLessThan(100);
    await link.click();
    await page.waitForURL(`**/teams/${id}`);
    await expectText(page.getByRole('heading', { level: 1 })).toContain(`Team ${id}`);
  }
});

test('no odd name widens a page, not even on a phone', async () => {
  for (const viewport of [PHONE, { width: 1_280, height: 800 }]) {
    const page = await browser.newPage({ viewport });
    for (const path of ['/teams', '/attention', ...[...ids.values()].map((id) => `/teams/${id}`)]) {
      await page.goto(`${pages.url}${path}`);
      await expectText(page).toContain('Team');
      expect(await overhang(page)).toBe(0);
    }
  }
});
