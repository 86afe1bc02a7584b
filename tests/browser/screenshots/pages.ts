import type { Page } from 'playwright-core';
import { expectText } from '../../support/browser/browser.ts';
import type { ConsoleService } from '../../support/browser/console-pages.ts';
import type { Problems } from './problems.ts';

export type Consoles = {
  /** With the data of the demo, and what can be wrong. */
  readonly demo: ConsoleService;
  /** Behind a login. */
  readonly guarded: ConsoleService;
  /** Of a new database. */
  readonly empty: ConsoleService;
  /** With one team, which is in sync. */
  readonly calm: ConsoleService;
};

/** The address of a page to take pictures of, and what to do there first. */
type Shot = {
  readonly name: string;
  readonly of?: keyof Consoles;
  readonly path: string | ((teams: Problems) => string);
  readonly act?: (page: Page) => Promise<unknown>;
};

const button = (page: Page, name: string) => page.getByRole('main').getByRole('button', { name });

const openEvent = async (page: Page) => {
  await page.getByRole('row').nth(1).getByRole('link').first().click();
  await page.getByText(/^All [\d,]+ bytes/).click();
};

/** The pictures in the docs. */
export const DOCS_SHOTS: readonly Shot[] = [
  {
    name: 'team',
    path: "/teams?search=Ada's+team",
    act: (page) => page.getByRole('main').getByRole('link', { name: "Ada's team" }).click(),
  },
  { name: 'overview', path: '/?live=off' },
];

/** Every page, and every other state of a page. */
export const SHOTS: readonly Shot[] = [
  ...DOCS_SHOTS,
  { name: 'login', of: 'guarded', path: '/' },
  {
    name: 'overview-outdated',
    path: '/',
    async act(page) {
      await page.route(
        (one) => one.pathname === '/',
        (route) => route.abort(),
      );
      await page.evaluate(`htmx.trigger('#overview', 'refresh')`);
      await expectText(page).toContain('Retrying');
    },
  },
  { name: 'overview-in-sync', of: 'calm', path: '/' },
  { name: 'overview-empty', of: 'empty', path: '/' },
  { name: 'attention', path: '/attention?select=all' },
  { name: 'attention-empty', of: 'empty', path: '/attention' },
  {
    name: 'attention-choose-team',
    path: '/attention',
    async act(page) {
      const team = page.getByPlaceholder('Team id, name or email').first();
      await team.fill('a');
      await team.press('Enter');
      await page.locator('[data-result=several-teams]').waitFor();
    },
  },
  ...['Repair', 'Dismiss'].map((action) => ({
    name: `attention-question-${action}`,
    path: '/attention?select=all',
    async act(page: Page) {
      await page.locator('.toolbar').getByRole('button', { name: action }).click();
      await page.getByRole('heading', { level: 1, name: action }).waitFor();
    },
  })),
  {
    name: 'attention-acted',
    path: '/attention?select=all',
    act: (page) => button(page, 'Compare').last().click(),
  },
  { name: 'actions', path: '/actions' },
  { name: 'actions-empty', of: 'empty', path: '/actions' },
  { name: 'teams', path: '/teams' },
  { name: 'teams-empty', of: 'empty', path: '/teams' },
  { name: 'teams-filtered', path: '/teams?status=canceled&plan=Pro' },
  { name: 'teams-customer', path: '/teams?search=cus_9f2Kd0aXqPq7Zs' },
  { name: 'teams-none', path: '/teams?search=unknown' },
  ...(['twoSubscriptions', 'withoutCustomer', 'unknownCustomer', 'hostile', 'busy'] as const).map(
    (team) => ({ name: `team-${team}`, path: (teams: Problems) => `/teams/${teams[team]}` }),
  ),
  {
    name: 'team-out-of-sync',
    path: '/search?q=Foxglove+Legal',
    act: (page) => button(page, 'Compare with Stripe').click(),
  },
  { name: 'team-changed-by-hand', path: '/search?q=Moonraker+Sails' },
  { name: 'events', path: '/events' },
  { name: 'events-empty', of: 'empty', path: '/events' },
  { name: 'events-invalid', path: '/events?from=yesterday&search=Nobody' },
  ...['applied', 'stale', 'parked', 'unreadable'].map((outcome) => ({
    name: `event-${outcome}`,
    path: `/events?outcome=${outcome}`,
    act: openEvent,
  })),
  {
    name: 'compare',
    path: '/compare',
    async act(page) {
      await button(page, 'Compare all teams').click();
      await expectText(page).toContain('finished');
    },
  },
  { name: 'compare-empty', of: 'empty', path: '/compare' },
  { name: 'not-found', path: '/nothing' },
];
