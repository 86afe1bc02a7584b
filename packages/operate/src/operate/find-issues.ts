// Finds and counts what is wrong with single teams, customers, subscriptions and events: the union of the issues, without
// what operators have dismissed. The console's list calls it, and health.ts for the numbers.

import { type EventRow, MAX_COUNTED_PARKED, readEventsAt } from 'instep-engine/log';
import {
  type ApplicationTables,
  type Database,
  onlyRow,
  type Query,
  readStates,
  rowsOf,
} from 'instep-engine/postgres';
import { selectedReport } from 'instep-engine/rule';
import { type Mode, TEAM_KEY } from 'instep-engine/stripe';
import { whyUnreadable } from '../event-log/explain.ts';
import { readChargedSubscriptions } from '../issues/charged-subscriptions.ts';
import { isNotDismissed, newestDismissal } from '../issues/dismissals.ts';
import { type Figures, readFigures } from '../issues/figures.ts';
import type {
  IssueCounts,
  IssueEvidence,
  Remedy,
  Severity,
  SubjectIssueCode,
} from '../issues/issue.ts';
import { ISSUES, SUBJECT_ISSUES } from '../issues/issues.ts';
import { type NamedTeam, readNamedTeamsOf, readSuggestedTeams } from '../teams/named-teams.ts';
import { parseSubject, type Subject } from '../teams/subject.ts';

type ListedIssueOf<Code extends SubjectIssueCode> = {
  readonly code: Code;
  readonly severity: Severity;
  readonly remedies: readonly Remedy[];
  /** What an action on the issue is about. */
  readonly subject: Subject;
  readonly sinceMs: number;
  /** `null` for an unreadable event. */
  readonly customerId: string | null;
  /** The team that the issue is about, or that has its customer; `null`: there is none. */
  readonly team: NamedTeam | null;
  readonly evidence: IssueEvidence[Code];
};

/** Something that is wrong with one team, customer, subscription or event. */
export type OpenIssue = { [Code in SubjectIssueCode]: ListedIssueOf<Code> }[SubjectIssueCode];

/** An open issue, and the newest dismissal of its subject, even if it was taken back; `null`: there is none. */
export type ListedIssue = OpenIssue & { readonly dismissalId: number | null };

/** What a comparison with Stripe or with the event log found. */
export type ComparisonIssue = Extract<
  OpenIssue,
  { readonly evidence: IssueEvidence['out-of-sync'] }
>;

/** The most severe issues first. */
export type FirstIssues = {
  readonly issues: readonly ListedIssue[];
  /** Whether there are more than these. */
  readonly isMore: boolean;
};

type IssueContext = {
  readonly database: Pick<Database, 'query'>;
  readonly linkByMetadata?: string | null;
  readonly keyMode: Mode | null;
};

type Row = {
  readonly code: SubjectIssueCode;
  readonly key: string;
  readonly subject: string;
  readonly customerId: string | null;
  readonly teamId: string | null;
  readonly sinceMs: number;
  readonly evidence: { readonly newestPosition?: number; readonly position?: number } | null;
  readonly dismissalId: number | null;
};

/** SQL: what has this issue and was not dismissed. */
const open = (code: SubjectIssueCode, tables: ApplicationTables) => `(${ISSUES[code].rows(tables)}
        ) as issue
         where ${isNotDismissed('issue.subject', 'issue.changed_at')}`;

/** The rows of these issues that meet a condition, in the order of the issues. */
const listOf =
  (codes: readonly SubjectIssueCode[], condition: string) => (tables: ApplicationTables) =>
    `
      select code,
             key,
             subject,
             customer_id as "customerId",
             team_id as "teamId",
             (extract(epoch from since) * 1000)::bigint as "sinceMs",
             evidence,
             ${newestDismissal('listed.subject')} as "dismissalId"
        from (
      ${codes
        .map(
          (code, rank) => `(
        select ${rank} as rank, '${code}' as code, *
          from ${open(code, tables)}
           and ${condition}
      )`,
        )
        .join(' union all ')}
             ) as listed
       order by rank, key, subject`;

/** Those of one key stay together, so there can be more than asked for. */
const AFTER_KEY = `key > $1
         order by key
         fetch first $2 rows with ties`;

async function readRows(
  query: Query,
  codes: readonly SubjectIssueCode[],
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<Row[]> {
  const name = `list_issues_${codes.length === 1 ? codes[0] : 'all'}`;
  return await query<Row>({ name, text: listOf(codes, AFTER_KEY), values: [after, limit] });
}

const ALL = { order: 'newest first', limit: Number.MAX_SAFE_INTEGER } as const;

/** Reads what the rows do not have themselves, each kind at once. */
async function withEvidence(
  { database: { query }, linkByMetadata, keyMode }: IssueContext,
  rows: readonly Row[],
): Promise<ListedIssue[]> {
  const of = (code: SubjectIssueCode) =>
    rows.flatMap((row) => (row.code === code ? (row.customerId ?? []) : []));
  const positions = rows.flatMap(({ evidence }) => {
    return evidence?.newestPosition ?? evidence?.position ?? [];
  });
  const customerIds = [...new Set(rows.flatMap(({ customerId }) => customerId ?? []))];
  const [teams, events, states, charged] = await Promise.all([
    readNamedTeamsOf(query, customerIds),
    positions.length === 0 ? [] : readEventsAt(query, {}, positions, ALL),
    readStates(query, of('paid-without-plan')),
    readChargedSubscriptions(query, of('double-billed')),
  ]);
  const naming = { teamKey: linkByMetadata ?? TEAM_KEY, keyMode };
  const suggested = await readSuggestedTeams(
    query,
    events.filter(({ outcome }) => outcome === 'parked'),
    naming,
  );
  const eventAt = (position: number | undefined): EventRow | null =>
    events.find((event) => event.position === position) ?? null;

  function evidenceOf({ code, customerId, evidence }: Row): unknown {
    switch (code) {
      case 'parked-events': {
        const newest = eventAt(evidence?.newestPosition);
        const suggestedTeam = suggested.get(newest?.position ?? 0) ?? null;
        return { events: 0, ...evidence, newest, suggestedTeam };
      }
      case 'unreadable-event': {
        const event = eventAt(evidence?.position);
        return event && { event, reason: whyUnreadable(event) };
      }
      case 'paid-without-plan': {
        const plan = selectedReport(states.of(customerId), 'best')?.plan;
        const productId = plan?.providerProductId ?? null;
        const planName = plan?.planName ?? states.names.get(productId) ?? null;
        return { subscriptionId: plan?.providerSubscriptionId ?? null, planName };
      }
      case 'double-billed':
        return { subscriptions: charged.get(customerId ?? '') ?? [] };
      default:
        return evidence;
    }
  }

  return rows.flatMap((row) => {
    const { code, customerId, teamId, sinceMs, dismissalId } = row;
    const subject = parseSubject(row.subject);
    const evidence = evidenceOf(row);
    // An event that was deleted meanwhile.
    if (subject === null || evidence === null) return [];
    const { severity, remedies } = ISSUES[code];
    const ofCustomer = teams.filter((team) => team.customerId === customerId);
    const team = ofCustomer.find(({ id }) => teamId === null || String(id) === teamId) ?? null;
    // Since there are two.
    const second = code === 'double-billed' ? charged.get(customerId ?? '')?.[1] : undefined;
    const issue = { code, severity, remedies, subject, customerId, team, evidence, dismissalId };
    return [{ ...issue, sinceMs: second?.sinceMs ?? sinceMs } as ListedIssue];
  });
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
  context: IssueContext,
  code: SubjectIssueCode | null = null,
): IssueSearch {
  const { query } = context.database;
  const codes = code === null ? SUBJECT_ISSUES : [code];
  return {
    async first(limit = 50) {
      const rows = await readRows(query, codes, { after: '', limit: limit + 1 });
      const issues = await withEvidence(context, rows.slice(0, limit));
      return { issues, isMore: rows.length > limit };
    },
    async *all() {
      for (const one of codes) {
        yield* rowsOf<ListedIssue, string>(async (after) => {
          const rows = await readRows(query, [one], { after: after ?? '', limit: READ_AT_ONCE });
          const found = await withEvidence(context, rows);
          const last = rows.length < READ_AT_ONCE ? undefined : rows.at(-1);
          return { found, examinedTo: last?.key ?? null };
        });
      }
    },
    count: async () => await countOpenIssues(query, await readFigures(query)),
  };
}

/** What the last comparison found about a team, if that still holds. */
export async function readIssueOf(
  context: IssueContext,
  { id, customerId }: NamedTeam,
): Promise<ComparisonIssue | null> {
  const codes = ['out-of-sync', 'changed-by-hand', 'plan-refused', 'unknown-customer'] as const;
  const rows = await context.database.query<Row>({
    name: 'list_issues_of_team',
    text: listOf(codes, 'customer_id = $1 and team_id = $2'),
    values: [customerId, String(id)],
  });
  const [issue] = await withEvidence(context, rows);
  return issue !== undefined && 'cause' in issue.evidence ? (issue as ComparisonIssue) : null;
}

/** Counting stops here. */
const MAX_COUNTED = 1_000;

const COUNTED = SUBJECT_ISSUES.filter((code) => code !== 'parked-events');

/** `select (select count(*) from …) as "unknown-order", …` */
const COUNT_ISSUES = (tables: ApplicationTables) => `
      select ${COUNTED.map(
        (code) => `(
        select count(*)
          from (
        select from ${open(code, tables)}
         limit ${MAX_COUNTED}
               ) as counted
             ) as "${code}"`,
      ).join(',\n             ')}`;

/** Counts the open issues of each code; those that the figures have are known. */
export async function countOpenIssues(
  query: Query,
  { parkedCustomers, parkedEvents }: Pick<Figures, 'parkedCustomers' | 'parkedEvents'>,
): Promise<IssueCounts> {
  const counts = await onlyRow<Readonly<Record<SubjectIssueCode, number>>>(query, {
    name: 'count_issues',
    text: COUNT_ISSUES,
  });
  const parked = { count: parkedCustomers, isMore: parkedEvents >= MAX_COUNTED_PARKED };
  const entries = COUNTED.map((code) => {
    return [code, { count: counts[code], isMore: counts[code] >= MAX_COUNTED }] as const;
  });
  return { ...Object.fromEntries(entries), 'parked-events': parked } as IssueCounts;
}

/** SQL: when the newest event of a customer arrived that waits for a team. Older ones are no issue once it was dismissed. */
const NEWEST_PARKED = `(
                          select max(received_at)
                            from instep.events as event
                           where outcome = 'parked'
                             and event.customer_id = customers.customer_id
                        )`;

/** How many subjects have an issue that operators have hidden: without one, nothing is wrong that nobody sees. */
export async function countHidden(query: Query): Promise<number> {
  const { hidden } = await onlyRow<{ hidden: number }>(query, {
    name: 'count_hidden_issues',
    text: (tables) => `
      select count(*) as hidden
        from (
               select subject
                 from (${SUBJECT_ISSUES.map(
                   (code) => `
                 select subject
                   from (${ISSUES[code].rows(tables)}) as issue
                  where not ${isNotDismissed('issue.subject', 'issue.changed_at')}`,
                 ).join(' union ')}
                  union
                 select 'customer:' || customer_id
                   from instep.customers
                  where waiting is not null
                    and not ${isNotDismissed("'customer:' || customer_id", NEWEST_PARKED)}) as dismissed
                limit ${MAX_COUNTED}
             ) as counted`,
  });
  return hidden;
}
