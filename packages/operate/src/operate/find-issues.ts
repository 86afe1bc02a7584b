// Finds and counts what is wrong with single teams, customers, subscriptions and events, from every place where it
// is stored or can be derived. The console's list calls it, and health.ts for the numbers.

import { type EventRow, MAX_COUNTED_PARKED, readEventsAt } from 'instep-engine/log';
import {
  countStoredIssues,
  ISSUE_CAUSES,
  type IssueCause,
  MAX_COUNTED_STORED,
  type Query,
  readNewestDismissals,
  readPaidWithoutPlan,
  readStoredIssues,
  rowsOf,
  type StoredIssue,
} from 'instep-engine/postgres';
import type { PlanInRow } from 'instep-engine/rule';
import { TEAM_KEY } from 'instep-engine/stripe';
import { type Reason, whyUnreadable } from '../event-log/explain.ts';
import { type Figures, readFigures } from '../health/figures.ts';
import {
  CODE_OF_CAUSE,
  COMPARISON_ISSUES,
  type ComparisonIssueCode,
  ISSUES,
  type IssueCounts,
  type IssueKind,
  type Remedy,
  type Severity,
  SUBJECT_ISSUES,
  type SubjectIssueCode,
} from '../health/issues.ts';
import { type Subject, subjectText } from './audit.ts';
import type { OperateContext } from './context.ts';
import { type ChargedSubscription, readDoubleBilled } from './double-billing.ts';
import {
  type NamedTeam,
  readNamedTeamsOf,
  readSuggestedTeams,
  type TeamNaming,
} from './named-teams.ts';
import {
  type CustomerPage,
  countListedIssues,
  LISTED_ISSUES,
  MAX_COUNTED_ISSUES,
  type ParkedCustomer,
  readDuePayments,
  readParkedCustomers,
  readUnconfirmedEnds,
  readUnknownOrders,
  readUnreadablePositions,
} from './open-issues.ts';

/** What is known about an issue with one subject, by its code. */
export type IssueEvidence = {
  readonly [Code in ComparisonIssueCode]: {
    readonly cause: IssueCause;
    /** What the team has and should have; `null` if the issue is about the customer. */
    readonly is: PlanInRow | null;
    readonly shouldBe: PlanInRow | null;
    /** The constraint that refuses the plan; `null`: unknown, or nothing is refused. */
    readonly refusedBy: string | null;
  };
} & {
  readonly 'parked-events': {
    /** At most 100 events are counted. */
    readonly events: number;
    /** The newest of them, and so what the customer has subscribed to: see `subscriptionOf`. */
    readonly newest: EventRow | null;
    /** The team that the metadata of the newest event's subscription names; it can have another customer. */
    readonly suggestedTeam: NamedTeam | null;
  };
  readonly 'unknown-order': { readonly subscriptionId: string };
  readonly 'end-not-confirmed': { readonly subscriptionId: string };
  /** The subscription that goes on. */
  readonly 'paid-without-plan': {
    readonly subscriptionId: string | null;
    readonly planName: string | null;
  };
  readonly 'payment-due': { readonly subscriptionId: string; readonly planName: string | null };
  /** The customer can have no team any more. Otherwise the team's plan shows which one it follows. */
  readonly 'double-billed': { readonly subscriptions: readonly ChargedSubscription[] };
  readonly 'unreadable-event': { readonly event: EventRow; readonly reason: Reason };
};

type IssueSubject = {
  /** What an action on the issue is about. */
  readonly subject: Subject;
  readonly sinceMs: number;
  /** `null` for an unreadable event. */
  readonly customerId: string | null;
  /** The team that the issue is about; `null` if it is about a customer or an event. */
  readonly team: NamedTeam | null;
};

type OpenIssueOf<Code extends SubjectIssueCode> = IssueSubject & {
  readonly code: Code;
  readonly severity: Severity;
  readonly remedies: readonly Remedy[];
  readonly evidence: IssueEvidence[Code];
};

/** Something that is wrong with one team, customer, subscription or event. */
export type OpenIssue = { [Code in SubjectIssueCode]: OpenIssueOf<Code> }[SubjectIssueCode];

/** What a comparison with Stripe or with the event log found. */
export type ComparisonIssue = Extract<OpenIssue, { readonly code: ComparisonIssueCode }>;

/** An open issue, and the newest dismissal of its subject, even if it was taken back; `null`: there is none. */
export type ListedIssue = OpenIssue & { readonly dismissalId: number | null };

/** The most severe issues first. */
export type FirstIssues = {
  readonly issues: readonly ListedIssue[];
  /** Whether there are more than these. */
  readonly isMore: boolean;
};

function openIssue<Code extends SubjectIssueCode>(
  code: Code,
  subject: IssueSubject,
  evidence: IssueEvidence[Code],
): OpenIssueOf<Code> {
  const { severity, remedies }: IssueKind = ISSUES[code];
  return { code, severity, remedies, ...subject, evidence };
}

const subjectOf = (kind: Subject['kind'], id: string | number): Subject => ({
  kind,
  id: String(id),
});

/** The issue that a comparison found about one of these teams, or about a customer without a team. */
export function comparisonIssueOf(
  found: StoredIssue,
  teams: readonly NamedTeam[],
): ComparisonIssue {
  const { cause, customerId, teamId, plan: is, shouldBe, sinceMs, refusedBy } = found;
  const subject = teamId === null ? subjectOf('customer', customerId) : subjectOf('team', teamId);
  const team = teams.find(({ id }) => id === teamId) ?? null;
  const evidence = { cause, is, shouldBe, refusedBy };
  const about = { subject, sinceMs, customerId, team };
  return openIssue(CODE_OF_CAUSE[cause], about, evidence);
}

type SourcePage = {
  readonly naming: TeamNaming;
  /** Only issues after this customer, or before this event. */
  readonly after: string;
  readonly limit: number;
};

/** Reads a page of issues; those of one customer stay together, so there can be more than asked for. */
type ReadIssues = (query: Query, page: SourcePage) => Promise<OpenIssue[]>;

const ALL = { order: 'newest first', limit: Number.MAX_SAFE_INTEGER } as const;

/** Reads customers with an issue, and makes an issue of each with the customer's teams. */
const ofCustomers =
  <Found extends { readonly customerId: string }>(
    read: (query: Query, page: CustomerPage) => Promise<readonly Found[]>,
    toIssue: (found: Found, teams: readonly NamedTeam[]) => OpenIssue,
  ): ReadIssues =>
  async (query, { after: afterCustomerId, limit }) =>
    await withTeams(query, await read(query, { afterCustomerId, limit }), toIssue);

function readCompared(code: ComparisonIssueCode): ReadIssues {
  const causes = ISSUE_CAUSES.filter((cause) => CODE_OF_CAUSE[cause] === code);
  return ofCustomers(
    (query, page) => readStoredIssues(query, { causes, ...page }),
    comparisonIssueOf,
  );
}

const READERS: Readonly<Record<SubjectIssueCode, ReadIssues>> = {
  ...byCode(COMPARISON_ISSUES, readCompared),
  async 'parked-events'(query, page) {
    const customers = await readParkedCustomers(query, { ...page, afterCustomerId: page.after });
    return await parkedIssues(query, customers, page.naming);
  },
  'unknown-order': ofCustomers(readUnknownOrders, ({ subscriptionId, ...found }, [team = null]) => {
    const subject = subjectOf('subscription', subscriptionId);
    return openIssue('unknown-order', { ...found, subject, team }, { subscriptionId });
  }),
  async 'unreadable-event'(query, { after, limit }) {
    const before = after === '' ? Number.MAX_SAFE_INTEGER : Number(after);
    const positions = await readUnreadablePositions(query, { before, limit });
    const events = await readEventsAt(query, {}, positions, ALL);
    return events.map((event) => {
      const subject = subjectOf('event', event.position);
      const about = { subject, sinceMs: event.receivedAtMs, customerId: null, team: null };
      return openIssue('unreadable-event', about, { event, reason: whyUnreadable(event) });
    });
  },
  'paid-without-plan': ofCustomers(
    readPaidWithoutPlan,
    ({ teamId, subscriptionId, planName, ...found }, teams) => {
      const team = teams.find(({ id }) => id === teamId) ?? null;
      const about = { ...found, subject: subjectOf('team', teamId), team };
      return openIssue('paid-without-plan', about, { subscriptionId, planName });
    },
  ),
  'payment-due': ofCustomers(readDuePayments, ({ subscriptionId, ...found }, teams) => {
    const team = teams.find(({ plan }) => plan.providerSubscriptionId === subscriptionId) ?? null;
    const subject =
      team === null ? subjectOf('customer', found.customerId) : subjectOf('team', team.id);
    const evidence = { subscriptionId, planName: team?.plan.planName ?? null };
    return openIssue('payment-due', { ...found, subject, team }, evidence);
  }),
  'end-not-confirmed': ofCustomers(
    readUnconfirmedEnds,
    ({ subscriptionId, ...found }, [team = null]) => {
      const { customerId } = found;
      const subject =
        team === null ? subjectOf('customer', customerId) : subjectOf('team', team.id);
      return openIssue('end-not-confirmed', { ...found, subject, team }, { subscriptionId });
    },
  ),
  'double-billed': ofCustomers(readDoubleBilled, ({ subscriptions, ...found }, [team = null]) => {
    const subject = subjectOf('customer', found.customerId);
    return openIssue('double-billed', { ...found, subject, team }, { subscriptions });
  }),
};

async function parkedIssues(
  query: Query,
  customers: readonly ParkedCustomer[],
  naming: TeamNaming,
): Promise<OpenIssue[]> {
  const positions = customers.map(({ newestPosition }) => newestPosition);
  const newestEvents = await readEventsAt(query, {}, positions, ALL);
  const suggested = await readSuggestedTeams(query, newestEvents, naming);
  return await withTeams(query, customers, (parked, [team = null]) => {
    const { customerId, events, newestPosition, sinceMs } = parked;
    const newest = newestEvents.find(({ position }) => position === newestPosition) ?? null;
    const suggestedTeam = suggested.get(newestPosition) ?? null;
    const about = { subject: subjectOf('customer', customerId), sinceMs, customerId, team };
    return openIssue('parked-events', about, { events, newest, suggestedTeam });
  });
}

async function withTeams<Found extends { readonly customerId: string }>(
  query: Query,
  found: readonly Found[],
  toIssue: (found: Found, teams: readonly NamedTeam[]) => OpenIssue,
): Promise<OpenIssue[]> {
  const customerIds = found.map(({ customerId }) => customerId);
  const teams = await readNamedTeamsOf(query, customerIds);
  return found.map((issue) =>
    toIssue(
      issue,
      teams.filter(({ customerId }) => customerId === issue.customerId),
    ),
  );
}

type IssueSearch = {
  /** The first issues, 50 by default. */
  first(limit?: number): Promise<FirstIssues>;
  /** All issues, for a file. */
  all(): AsyncGenerator<ListedIssue>;
  /** How many issues of each code are open, of all codes. */
  count(): Promise<IssueCounts>;
};

const READ_AT_ONCE = 200;

/**
 * What is wrong with single teams, customers, subscriptions and events, each with its evidence and what can be
 * done about it: all of it, or what has this code. The most severe issues come first.
 *
 * @example
 * ```ts
 * const { issues, isMore } = await findIssues(context, 'parked-events').first(10);
 * const counts = await findIssues(context).count();
 * console.log(issues.length, isMore, counts['out-of-sync'].count); // 0 false 0
 * for await (const { code, subject, remedies } of findIssues(context).all()) {
 *   console.log(code, subject.kind, subject.id, remedies);
 * }
 * ```
 */
export function findIssues(
  { database: { query }, linkByMetadata, keyMode }: OperateContext,
  code: SubjectIssueCode | null = null,
): IssueSearch {
  const codes = code === null ? SUBJECT_ISSUES : [code];
  const naming = { teamKey: linkByMetadata ?? TEAM_KEY, keyMode };
  return {
    async first(limit = 50) {
      const issues: ListedIssue[] = [];
      for await (const issue of readIssues(query, codes, { naming, limit: limit + 1 })) {
        if (issues.length === limit) return { issues, isMore: true };
        issues.push(issue);
      }
      return { issues, isMore: false };
    },
    all: () => readIssues(query, codes, { naming, limit: READ_AT_ONCE }),
    count: async () => await countOpenIssues(query, await readFigures(query)),
  };
}

/** Reads all issues with these codes. Each kind has an index, in which a statement goes on after the one before. */
async function* readIssues(
  query: Query,
  codes: readonly SubjectIssueCode[],
  page: Omit<SourcePage, 'after'>,
): AsyncGenerator<ListedIssue> {
  for (const code of codes) {
    yield* rowsOf<ListedIssue, string>(async (after) => {
      const issues = await READERS[code](query, { ...page, after: after ?? '' });
      const subjects = issues.map(({ subject }) => subjectText(subject));
      const dismissals = await readNewestDismissals(query, subjects);
      const found = issues.map((one, index) => {
        const dismissalId = dismissals.get(subjects[index] ?? '') ?? null;
        return { ...one, dismissalId };
      });
      const last = found.length < page.limit ? undefined : found.at(-1);
      return { found, examinedTo: last?.customerId ?? last?.subject.id ?? null };
    });
  }
}

/** Counts the open issues of each code; those that the figures have are known. */
export async function countOpenIssues(
  query: Query,
  { parkedCustomers, parkedEvents }: Pick<Figures, 'parkedCustomers' | 'parkedEvents'>,
): Promise<IssueCounts> {
  const [countOf, listed] = await Promise.all([countStoredIssues(query), countListedIssues(query)]);
  const total = [...countOf.values()].reduce((sum, count) => sum + count, 0);
  const ofComparisons = byCode(COMPARISON_ISSUES, (code) => {
    const causes = ISSUE_CAUSES.filter((cause) => CODE_OF_CAUSE[cause] === code);
    const count = causes.reduce((sum, cause) => sum + (countOf.get(cause) ?? 0), 0);
    return { count, isMore: total >= MAX_COUNTED_STORED };
  });
  const ofLists = byCode(LISTED_ISSUES, (code) => ({
    count: listed[code],
    isMore: listed[code] >= MAX_COUNTED_ISSUES,
  }));
  return {
    ...ofComparisons,
    ...ofLists,
    'parked-events': { count: parkedCustomers, isMore: parkedEvents >= MAX_COUNTED_PARKED },
  };
}

/** A value for each of these codes. */
function byCode<Code extends SubjectIssueCode, Value>(
  codes: readonly Code[],
  read: (code: Code) => Value,
): Readonly<Record<Code, Value>> {
  const entries = codes.map((code) => [code, read(code)]);
  return Object.fromEntries(entries) as Record<Code, Value>;
}
