import type { Page } from 'playwright-core';
import { expectText } from '../../support/browser/browser.ts';
import type { ConsoleService } from '../../support/browser/console-pages.ts';
import { OPERATIONS_TOKEN } from '../../support/secrets/test-secrets.ts';
import type { Problems } from './problems.ts';

export type Consoles = {
  /** With the data of the demo. */
  readonly demo: ConsoleService;
  /** The same, behind a login. */
  readonly guarded: ConsoleService;
  /** Of a new database. */
  readonly empty: ConsoleService;
  /** With one team, which is in sync. */
  readonly calm: ConsoleService;
  /** The same, before the first comparison with Stripe. */
  readonly notCompared: ConsoleService;
};

/** A page to take pictures of, and how to get there. */
type Shot = {
  readonly name: string;
  readonly open: (page: Page, consoles: Consoles, problems: Problems | null) => Promise<void>;
};

/** A page of the demo that an address leads to. */
function at(name: string, path: string): Shot {
  return { name, open: async (page, { demo }) => void (await page.goto(demo.url + path)) };
}

function ofEmpty(name: string, path: string): Shot {
  return { name, open: async (page, { empty }) => void (await page.goto(empty.url + path)) };
}

function ofTeam(name: string, team: keyof Problems, rest = ''): Shot {
  return {
    name,
    async open(page, { demo }, problems) {
      await page.goto(`${demo.url}/teams/${problems?.[team]}${rest}`);
    },
  };
}

async function openTeam(page: Page, demo: ConsoleService, name: string): Promise<void> {
  await page.goto(`${demo.url}/teams?search=${encodeURIComponent(name)}`);
  await page.getByRole('main').getByRole('link', { name, exact: true }).click();
}

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('main').getByRole('button', { name }).first().click();
  await page.waitForLoadState();
}

async function logIn(page: Page, token = OPERATIONS_TOKEN): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await press(page, 'Log in');
}

/** The pictures in the docs. */
export const DOCS_SHOTS: readonly Shot[] = [
  { name: 'login', open: async (page, { guarded }) => void (await page.goto(guarded.url)) },
  at('overview', '/?live=off'),
  at('attention', '/attention'),
  at('teams', '/teams'),
  { name: 'team', open: (page, { demo }) => openTeam(page, demo, "Ada's team") },
  at('events', '/events'),
  {
    name: 'event',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/events?outcome=stale`);
      await page.getByRole('link', { name: /^evt_/ }).first().click();
    },
  },
  {
    name: 'compare',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/compare`);
      await press(page, 'Compare all teams');
      await expectText(page).toContain('finished');
    },
  },
];

/** Every other page, and every other state of a page. */
export const OTHER_SHOTS: readonly Shot[] = [
  {
    name: 'login-wrong',
    async open(page, { guarded }) {
      await page.goto(guarded.url);
      await logIn(page, 'not the token');
    },
  },
  {
    name: 'overview-logged-in',
    async open(page, { guarded }) {
      await page.goto(guarded.url);
      await logIn(page);
    },
  },
  {
    name: 'overview-figures',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/?live=off`);
      for (const summary of await page.getByText('In figures').all()) await summary.click();
    },
  },
  {
    name: 'overview-outdated',
    async open(page, { demo }) {
      await page.goto(demo.url);
      await page.route(
        (one) => one.pathname === '/',
        (route) => route.abort(),
      );
      await page.evaluate(`htmx.trigger('#overview', 'refresh')`);
      await expectText(page).toContain('Retrying');
    },
  },
  { name: 'overview-in-sync', open: async (page, { calm }) => void (await page.goto(calm.url)) },
  {
    name: 'overview-not-compared',
    open: async (page, { notCompared }) => void (await page.goto(notCompared.url)),
  },
  ofEmpty('overview-empty', '/'),
  at('attention-selected', '/attention?select=all'),
  at('attention-kind', '/attention?issue=parked-events'),
  {
    name: 'attention-not-linked',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/attention`);
      const [team, customer] = [page.getByLabel('Team for'), page.getByLabel('Customer for')];
      await customer.first().fill('cus_entered');
      await team.first().fill('Missing');
      await team.first().press('Enter');
      await expectText(page).toContain('There is no team "Missing".');
    },
  },
  ofEmpty('attention-empty', '/attention'),
  {
    name: 'attention-choose-team',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/attention`);
      const team = page.getByPlaceholder('Team id, name or email').first();
      await team.fill('a');
      await team.press('Enter');
      await page.locator('[data-result=several-teams]').waitFor();
    },
  },
  {
    name: 'attention-repair-question',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/attention?issue=changed-by-hand&select=all`);
      await page.getByRole('button', { name: 'Repair' }).last().click();
      await page.getByRole('heading', { level: 1, name: 'Repair' }).waitFor();
    },
  },
  {
    name: 'team-customer',
    async open(page, { demo }) {
      await openTeam(page, demo, "Ada's team");
      await page.getByText('Replace or unlink the customer').click();
    },
  },
  at('actions', '/actions'),
  ofEmpty('teams-empty', '/teams'),
  at('teams-filtered', '/teams?status=canceled&plan=Pro'),
  at('teams-none', '/teams?search=unknown'),
  ofTeam('team-two-subscriptions', 'twoSubscriptions'),
  {
    name: 'team-compared',
    async open(page, { demo }, problems) {
      await page.goto(`${demo.url}/teams/${problems?.twoSubscriptions}`);
      await press(page, 'Compare with Stripe');
    },
  },
  ofTeam('team-without-customer', 'withoutCustomer'),
  ofTeam('team-without-events', 'withoutEvents'),
  ofTeam('team-unknown-customer', 'unknownCustomer'),
  ofTeam('team-hostile', 'hostile'),
  ofTeam('team-busy', 'busy'),
  {
    name: 'team-older',
    async open(page, { demo }, problems) {
      await page.goto(`${demo.url}/teams/${problems?.busy}`);
      await page.getByRole('link', { name: 'Older', exact: true }).click();
    },
  },
  {
    name: 'team-out-of-sync',
    async open(page, { demo }) {
      await openTeam(page, demo, 'Foxglove Legal');
      await press(page, 'Compare with Stripe');
    },
  },
  {
    name: 'team-changed-by-hand',
    async open(page, { demo }) {
      await openTeam(page, demo, 'Moonraker Sails');
    },
  },
  ofEmpty('events-empty', '/events'),
  at('events-none', '/events?search=evt_none'),
  at('events-invalid', '/events?from=yesterday&search=Nobody'),
  ...['applied', 'unchanged', 'parked', 'unreadable'].map((outcome) => ({
    name: `event-${outcome}`,
    async open(page: Page, { demo }: Consoles) {
      await page.goto(`${demo.url}/events?outcome=${outcome}`);
      await page.getByRole('row').nth(1).getByRole('link').first().click();
      await page.getByText(/^All [\d,]+ bytes/).click();
    },
  })),
  {
    name: 'event-replayed',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/events?outcome=unreadable`);
      await page.getByRole('row').nth(1).getByRole('link').first().click();
      await press(page, 'Replay');
    },
  },
  at('search', '/search?q=an'),
  at('search-customer', '/search?q=cus_9f2Kd0aXqPq7Zs'),
  at('search-none', '/search?q=nothing+like+this'),
  ofEmpty('compare-empty', '/compare'),
  at('not-found', '/nothing'),
  {
    name: 'attention-acted',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/attention?select=all`);
      await press(page, 'Compare');
      await page.goto(`${demo.url}/attention?select=all`);
      await page.getByRole('button', { name: 'Compare' }).last().click();
      await expectText(page).toMatch(/failed|done/);
    },
  },
  {
    name: 'attention-dismiss-question',
    async open(page, { demo }) {
      await page.goto(`${demo.url}/attention?issue=payment-due&select=all`);
      await page.locator('.toolbar').getByRole('button', { name: 'Dismiss' }).click();
      await page.getByRole('heading', { level: 1, name: 'Dismiss' }).waitFor();
    },
  },
  ofEmpty('actions-empty', '/actions'),
];
