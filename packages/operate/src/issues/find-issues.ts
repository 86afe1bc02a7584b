// Finds and counts what is wrong with single teams, customers and events: the union of the issues, with what operators have
// dismissed. The console's list and a team's page call it, and health.ts for the numbers.

import { readEventsAt } from 'instep-engine/log';
import { type ApplicationTables, type Database, readStates } from 'instep-engine/postgres';
import { type Search, searchOf } from '../runtime/pages.ts';
import { type NamedTeam, readNamedTeamsOf } from '../teams/named-teams.ts';
import { parseSubject, type Subject } from '../teams/subject.ts';
import type { Remedy, Severity } from './issue.ts';
import {
  ISSUES,
  type IssueCounts,
  type IssueEvidence,
  SUBJECT_ISSUES,
  type SubjectIssueCode,
} from './issues.ts';
import type { Sources } from './subject-issues.ts';

/** Something that is wrong with one team, customer or event. */
export type OpenIssue = {
  readonly [Code in SubjectIssueCode]: {
    readonly code: Code;
    /** Its place in the list. */
    readonly key: string;
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
}[SubjectIssueCode];

/** What a comparison with Stripe or with the event log found. */
export type ComparisonIssue = Extract<
  OpenIssue,
  { readonly evidence: IssueEvidence['out-of-sync'] }
>;

type IssueContext = { readonly database: Pick<Database, 'query'> };

type Row = {
  readonly code: SubjectIssueCode;
  /** Its rank, the key of its query and the subject. */
  readonly key: string;
  readonly subject: string;
  readonly customerId: string | null;
  readonly teamId: string | null;
  readonly sinceMs: number;
  readonly evidence: { readonly position?: number } | null;
  /** The action that has hidden it; `null`: it is open. */
  readonly dismissedBy: number | null;
};

/** SQL: the id of the last dismissal that holds: it is younger than the issue's last change, and was not taken back. */
const DISMISSED_BY = `(
               select max(dismissal.id)
                 from instep.operator_actions as dismissal
                where dismissal.action = 'dismiss'
                  and dismissal.is_done
                  and dismissal.subject = issue.subject
                  and dismissal.acted_at >= issue.changed_at
                  and not exists (
                        select
                          from instep.operator_actions as restored
                         where restored.action = 'restore'
                           and restored.is_done
                           and restored.subject = dismissal.subject
                           and restored.acted_at >= dismissal.acted_at
                      )
             )`;

/** SQL: all that have an issue, and what hides it. */
const rowsOf = (code: SubjectIssueCode, tables: ApplicationTables) => `
        select ${SUBJECT_ISSUES.indexOf(code)} as rank, '${code}' as code, *, ${DISMISSED_BY} as dismissed_by
          from (${ISSUES[code].rows(tables)}) as issue`;

/** The rows of these issues that meet a condition, in their order or backwards. */
const listOf =
  (codes: readonly SubjectIssueCode[], condition: string, direction: 'asc' | 'desc' = 'asc') =>
  (tables: ApplicationTables) => {
    const lists = codes.map(
      (code) => `(select * from (${rowsOf(code, tables)}) as issue where ${condition})`,
    );
    return `
      select code,
             concat_ws(' ', rank, key, subject) as key,
             subject,
             customer_id as "customerId",
             team_id as "teamId",
             (extract(epoch from since) * 1000)::bigint as "sinceMs",
             evidence,
             dismissed_by as "dismissedBy"
        from (${lists.join(' union all ')}) as listed
       order by listed.rank ${direction}, listed.key ${direction}, subject ${direction}`;
  };

/** Reads what the rows do not have themselves, each kind at once. */
async function withEvidence(
  { database: { query } }: IssueContext,
  rows: readonly Row[],
): Promise<OpenIssue[]> {
  const positions = rows.flatMap(({ evidence }) => evidence?.position ?? []);
  const customersOf = (those: readonly Row[]) => [
    ...new Set(those.flatMap(({ customerId }) => customerId ?? [])),
  ];
  const [teams, events, states] = await Promise.all([
    readNamedTeamsOf(query, customersOf(rows)),
    positions.length === 0 ? [] : readEventsAt(query, positions),
    // Their state says what is known of these.
    readStates(query, customersOf(rows.filter(({ evidence }) => evidence === null))),
  ]);
  return rows.flatMap(({ code, key, customerId, teamId, sinceMs, evidence: stored, ...row }) => {
    const position = stored?.position ?? 0;
    const event = events.find((event) => event.position === position) ?? null;
    const { severity, remedies, evidence: evidenceOf } = ISSUES[code];
    const complete = evidenceOf as (stored: Row['evidence'], read: Sources) => object | null;
    const evidence = complete(stored, { event, customerId, states });
    const subject = parseSubject(row.subject);
    // An event that was deleted meanwhile.
    if (subject === null || evidence === null) return [];
    const ofCustomer = teams.filter((team) => team.customerId === customerId);
    const team = ofCustomer.find(({ id }) => teamId === null || String(id) === teamId) ?? null;
    const known = { code, key, severity, remedies, subject, sinceMs, customerId, team, evidence };
    return [known as OpenIssue];
  });
}

/** An issue must match every given member. */
export type IssueFilter = {
  readonly code?: SubjectIssueCode | undefined;
  readonly customerId?: string | undefined;
};

/**
 * What is wrong with single teams, customers and events, each with its evidence and what can be done about it. The most severe
 * issues come first.
 *
 * @example
 * ```ts
 * const { rows, next } = await findIssues(context, { code: 'parked-events' }).page({ limit: 10 });
 * console.log(rows.length, next); // 0 null
 * for await (const { code, subject, remedies } of findIssues(context).all()) {
 *   console.log(code, subject.kind, subject.id, remedies);
 * }
 * ```
 */
export function findIssues(
  context: IssueContext,
  filter: IssueFilter = {},
): Search<OpenIssue, string> {
  const { code, customerId } = filter;
  return searchOf<Row, OpenIssue, string>(context.database.query, {
    name: `find_issues_${code ?? 'all'}`,
    text: (tables, { beyond, order }) =>
      listOf(
        code === undefined ? SUBJECT_ISSUES : [code],
        `dismissed_by is null
           and ${customerId === undefined ? '$5::text is null' : 'customer_id = $5'}
           and (rank, key, subject) ${beyond} ($1, $2, $3)
         order by key ${order}, subject ${order}
         limit $4`,
        order,
      )(tables),
    values({ from, limit }) {
      const [, rank, key, subject] = /^(\d+) (\S*) (.*)$/s.exec(from ?? '') ?? [];
      return [Number(rank ?? -1), key ?? '', subject ?? '', limit, customerId ?? null];
    },
    keyOf: ({ key }) => key,
    complete: (rows) => withEvidence(context, rows),
  });
}

/** What is wrong with a team or its customer. */
export type IssuesOfTeam = {
  readonly open: readonly OpenIssue[];
  /** The id of the action that has hidden something of it; `null`: none has. */
  readonly dismissedBy: number | null;
};

export async function readIssuesOf(
  context: IssueContext,
  { id, customerId }: NamedTeam,
): Promise<IssuesOfTeam> {
  const rows = await context.database.query<Row>({
    name: 'list_issues_of_team',
    text: listOf(SUBJECT_ISSUES, 'customer_id = $1 and coalesce(team_id, $2) = $2'),
    values: [customerId, String(id)],
  });
  const open = rows.filter(({ dismissedBy }) => dismissedBy === null);
  const hidden = rows.find(({ subject, dismissedBy }) => dismissedBy && subject === `team:${id}`);
  return { open: await withEvidence(context, open), dismissedBy: hidden?.dismissedBy ?? null };
}

/** Counting stops here. */
const MAX_COUNTED = 1_000;

/** As many more rows are read as can be dismissed, so that those never keep an open one from being counted. */
const COUNT_ISSUES = (tables: ApplicationTables) => `
      with dismissals as materialized (
        select count(*) from instep.operator_actions where action = 'dismiss' and is_done
      )
      ${SUBJECT_ISSUES.map(
        (code) => `
      select '${code}' as code,
             count(*) filter (where dismissed_by is null) as open,
             count(dismissed_by) as hidden,
             (extract(epoch from min(since) filter (where dismissed_by is null)) * 1000)::bigint as "sinceMs"
        from (
               select since, dismissed_by
                 from (${rowsOf(code, tables)}) as issue
                limit (select ${MAX_COUNTED} + count from dismissals)
             ) as counted`,
      ).join(' union all ')}`;

type Counted = {
  readonly code: SubjectIssueCode;
  readonly open: number;
  readonly hidden: number;
  readonly sinceMs: number | null;
};

/**
 * How many issues of each code there are.
 *
 * @example
 * ```ts
 * const counts = await countIssues(context);
 * console.log(counts['out-of-sync'].count); // 0
 * ```
 */
export async function countIssues({ database: { query } }: IssueContext): Promise<IssueCounts> {
  const rows = await query<Counted>({ name: 'count_issues', text: COUNT_ISSUES });
  const entries = rows.map(({ code, open, hidden, sinceMs }) => {
    const count = Math.min(open, MAX_COUNTED);
    return [code, { count, isMore: open >= MAX_COUNTED, hidden, sinceMs }] as const;
  });
  return Object.fromEntries(entries) as IssueCounts;
}
