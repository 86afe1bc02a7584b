import type { Child, PropsWithChildren } from 'hono/jsx';
import type { Health, Mode, Progress } from 'instep/operate';
import {
  counted,
  countText,
  durationOf,
  type EventOrigin,
  type LeasedJobState,
  type Mismatch,
  mismatchOf,
} from 'instep/operate/inside';
import { type IssueCounts, issueCountText } from '../attention/issue-counts.ts';
import { type IssueKind, issuesUrl } from '../links/issue-links.tsx';
import { teamsUrl } from '../teams/team-filter.ts';

/** A problem that Instep can't repair by itself. */
export type Issue = {
  readonly problem: string;
  readonly remedy: Child;
  /** Where to see or fix it, if that is in the console. */
  readonly link?: { readonly path: string; readonly text: string };
  /** How many rows the list of issues has for it; 1 by default. */
  readonly count?: number;
};

/** The state of everything that Instep keeps in sync. */
export type SyncState = {
  readonly health: Health;
  readonly catchUp: LeasedJobState | null;
  /** The open issues of single teams, customers and events. */
  readonly counts: IssueCounts;
  /** The last reconciliation, finished or not. */
  readonly reconciled: Progress | null;
  /** The origins of the last events. */
  readonly origins: readonly EventOrigin[];
  /** The mode of the API key; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  readonly areWritesCommitted: boolean;
};

/** An event often arrives before its team is linked, so it can be parked for this long. */
const PARKED_LONG_MS = 10 * 60_000;

/** Stripe can deliver an event after catch-up has found it; the event then counts as delivered. */
const UNDELIVERED_LONG_MS = 2 * 60 * 60_000;

/** Catching up on 30 days of events takes a fraction of this. */
const CATCH_UP_LONG_MS = 60 * 60_000;

/** What needs an operator's attention. */
export function issuesOf(state: SyncState, nowMs: number): Issue[] {
  return [
    ...writeIssues(state),
    ...parkedIssues(state, nowMs),
    ...deliveryIssues(state, nowMs),
    ...originIssues(state),
    ...maintenanceIssues(state, nowMs),
    ...findingIssues(state),
  ];
}

function* writeIssues({ areWritesCommitted }: SyncState): Generator<Issue> {
  if (areWritesCommitted) return;
  yield {
    problem: 'The database commits no writes. Events get a 503, and Stripe sends them again.',
    remedy: (
      <RunDoctor>
        check the disk, and that a standby of synchronous_standby_names is connected
      </RunDoctor>
    ),
  };
}

function RunDoctor({ children }: PropsWithChildren) {
  return (
    <>
      Run <code>npx instep doctor</code> to {children}.
    </>
  );
}

function* parkedIssues(state: SyncState, nowMs: number): Generator<Issue> {
  const { counts } = state;
  if (counts.parked === 0 || areJustParked(state, nowMs)) return;
  yield {
    problem: `${customersHave(counts)} parked events.`,
    remedy: counts.parked === 1 ? 'Link it to its team.' : 'Link each to its team.',
    link: { path: issuesUrl('parked'), text: RESOLVE },
    count: counts.parked,
  };
}

/** Whether all parked events are too young to be an issue. */
export function areJustParked({ health: { parkedSinceMs } }: SyncState, nowMs: number): boolean {
  return parkedSinceMs !== null && nowMs - parkedSinceMs < PARKED_LONG_MS;
}

export const customersHave = (counts: IssueCounts): string =>
  `${issueCountText(counts, 'parked')} ${counts.parked === 1 ? 'customer has' : 'customers have'}`;

function* deliveryIssues({ health, counts }: SyncState, nowMs: number): Generator<Issue> {
  const { undeliveredSinceMs } = health;
  const { unreadable } = counts;
  if (unreadable > 0) {
    yield {
      problem: `${issueCountText(counts, 'unreadable')} ${unreadable === 1 ? 'event' : 'events'} could not be read.`,
      remedy: 'Upgrade Instep and replay. If that does not help, report the problem.',
      link: { path: issuesUrl('unreadable'), text: RESOLVE },
      count: unreadable,
    };
  }
  if (undeliveredSinceMs !== null && nowMs - undeliveredSinceMs > UNDELIVERED_LONG_MS) {
    const duration = durationOf(nowMs - undeliveredSinceMs);
    yield {
      problem: `Stripe has delivered no event for ${duration}; all were found by catch-up.`,
      remedy: <RunDoctor>check the webhook endpoint and its secret</RunDoctor>,
      link: LAST_EVENTS,
    };
  }
}

/** The text of links to what needs attention. */
const RESOLVE = 'Resolve';

const LAST_EVENTS = { path: '/events', text: 'Last events' };

/** Reports events that possibly belong elsewhere. They are applied, because their signature is valid. */
function* originIssues({ origins, keyMode }: SyncState): Generator<Issue> {
  const total = counted(origins.length, 'event');
  const mismatched = (mismatch: Mismatch) =>
    origins.filter((origin) => mismatchOf(origin, keyMode) === mismatch);
  const [inOtherMode, ofAccounts] = [mismatched('mode'), mismatched('account')];
  if (inOtherMode.length > 0) {
    yield {
      problem: `${countText(inOtherMode.length)} of the last ${total} are in ${inOtherMode[0]?.mode} mode, but the API key is in ${keyMode} mode.`,
      remedy: 'Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode.',
      link: LAST_EVENTS,
    };
  }
  if (ofAccounts.length > 0) {
    const accounts = [...new Set(ofAccounts.map(({ account }) => account))].join(', ');
    yield {
      problem: `${countText(ofAccounts.length)} of the last ${total} belong to other accounts (${accounts}).`,
      remedy: 'Register an endpoint for the events of your own account only.',
      link: LAST_EVENTS,
    };
  }
}

/** Inconsistencies that maintenance repairs by itself, unless something prevents it. */
function* maintenanceIssues(
  { health, counts, catchUp }: SyncState,
  nowMs: number,
): Generator<Issue> {
  const { namelessProducts, unresolvedProducts } = health;
  const unknownOrders = counts['unknown order'];
  if (unknownOrders > 0) {
    const have = unknownOrders === 1 ? 'has' : 'have';
    yield {
      problem: `${counted(unknownOrders, 'subscription')} ${have} same-second events whose order is unknown.`,
      remedy: <RunDoctor>check the access to Stripe's API</RunDoctor>,
      link: { path: issuesUrl('unknown order'), text: RESOLVE },
      count: unknownOrders,
    };
  }
  if (unresolvedProducts > 0) {
    yield {
      problem: `The name of ${counted(namelessProducts, 'product')} is unknown, so their plans have no name.`,
      remedy: 'Check that they exist at Stripe, and that STRIPE_SECRET_KEY can read products.',
      link: { path: teamsUrl({ issue: 'products-without-name' }), text: 'Their teams' },
    };
  }
  const startedAtMs = catchUp?.startedAtMs ?? null;
  if (
    startedAtMs !== null &&
    catchUp?.endedAtMs === null &&
    nowMs - startedAtMs > CATCH_UP_LONG_MS
  ) {
    yield {
      problem: `Catch-up has been running for ${durationOf(nowMs - startedAtMs)}.`,
      remedy: <RunDoctor>check that STRIPE_SECRET_KEY can read events</RunDoctor>,
    };
  }
}

type Sentences = readonly [problem: string, remedy: string];

const COMPARE = 'Compare and repair.';
const READ_LOG = 'The server log has the reason.';

/** What comparisons found: the sentences after one and after several. */
const FINDINGS: readonly (readonly [kind: IssueKind, one: Sentences, several: Sentences])[] = [
  [
    'out of sync',
    ['team is out of sync with Stripe.', COMPARE],
    ['teams are out of sync with Stripe.', COMPARE],
  ],
  [
    'changed by hand',
    ['team was changed by hand.', COMPARE],
    ['teams were changed by hand.', COMPARE],
  ],
  [
    'plan refused',
    ['team has a plan that the database refuses.', READ_LOG],
    ['teams have a plan that the database refuses.', READ_LOG],
  ],
  [
    'customer without a team',
    ['customer has a subscription but no team.', 'Link it to a team.'],
    ['customers have a subscription but no team.', 'Link each to a team.'],
  ],
  [
    'unknown customer',
    ['team has a customer that Stripe does not know.', 'Link the right one.'],
    ['teams have a customer that Stripe does not know.', 'Link the right customer to each.'],
  ],
];

function findingIssues({ counts }: SyncState): Issue[] {
  return FINDINGS.filter(([kind]) => counts[kind] > 0).map(([kind, one, several]) => {
    const [problem, remedy] = counts[kind] === 1 ? one : several;
    return {
      problem: `${issueCountText(counts, kind)} ${problem}`,
      remedy,
      link: { path: issuesUrl(kind), text: RESOLVE },
      count: counts[kind],
    };
  });
}
