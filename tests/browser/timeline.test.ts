import { expect, test } from 'vitest';
import { useBrowsedInstep } from '../support/browser/browsed-instep.ts';
import {
  axeViolations,
  colorViolations,
  expectText,
  PHONE,
  useBrowser,
} from '../support/browser/browser.ts';
import { layoutProblems } from '../support/browser/layout.ts';
import { someOf } from '../support/test-length.ts';

const browser = useBrowser();
const instep = useBrowsedInstep();

const DESK = { width: 1_440, height: 900 };

const WIDTHS = [
  ['1440 px', DESK],
  ['a phone', PHONE],
] as const;

test.each(someOf(1, WIDTHS))(
  'what happened to a team is one list, at %s',
  async (name, viewport) => {
    const customerId = `cus_timeline_${viewport.width}`;
    const teamId = await instep.addTeam(`Timeline ${name}`);
    for (const status of ['trialing', 'active', 'canceled']) {
      await instep.happen({ customerId, subscriptionId: `sub_${viewport.width}`, status });
    }
    const page = await browser.newPage({ viewport, reducedMotion: 'reduce' });
    await page.goto(`${instep.url}/teams/${teamId}`);
    await page.getByRole('textbox', { name: 'Customer' }).fill(customerId);
    await page.getByRole('button', { name: 'Link team' }).first().click();
    await page.locator('[data-result=linked]').waitFor();
    const timeline = page.getByRole('region', { name: 'Timeline', exact: true });
    await expectText(timeline).toMatch(/canceled[\s\S]*trialing/);
    expect(await axeViolations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await colorViolations(page)).toEqual([]);
    expect(await layoutProblems(page)).toEqual([]);
    await expectText(timeline).toContain(`Linked to ${customerId}`);
  },
);
