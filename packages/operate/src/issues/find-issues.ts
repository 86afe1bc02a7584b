// Finds and counts what is wrong with single teams, customers and events: the union of the issues, with what operators have
// dismissed. The console's list and a team's page call it, and health.ts for the numbers.

import { readEventsAt } from 'instep-engine/log';
import { type ApplicationTables, type Database, readStates } from 'instep-engine/postgres';
import { type Direction, type Search, searchOf } from '../runtime/pages.ts';
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
import type { SubjectIssue } from './subject-issues.ts';

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
    /** The action that has hidden it; `null`: it is open. */
    readonly dismissedBy: number | null;
  };
}[SubjectIssueCode];

type IssueContext = { readonly database: Pick<Database, 'query'> };

/** An issue as its statement finds it. */
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

/** SQL: the subject, from as few columns as possible: a list in its order is then read from an index. */
const SUBJECT_SQL = {
  team: "coalesce('team:' || team_id, 'customer:' || customer_id)",
  customer: "'customer:' || customer_id",
  event: "'event:' || (evidence ->> 'position')",
};

/** SQL: all that have an issue, each with the dismissal since its last change that was not taken back. */
const rowsOf = (code: SubjectIssueCode, tables: ApplicationTables) => `
        select ${SUBJECT_ISSUES.indexOf(code)} as rank,
               '${code}' as code,
               issue.*,
               (
                 select case action when 'dismiss' then id end
                   from instep.operator_actions
                  where subject = issue.subject
                    and action in ('dismiss', 'restore')
                    and is_done
                    and acted_at >= issue.changed_at
                  order by acted_at desc, id desc
                  limit 1
               ) as dismissed_by
          from (
                 select *, ${SUBJECT_SQL[ISSUES[code].concerns]} as subject
                   from (${ISSUES[code].rows(tables)}) as found
               ) as issue`;

/** SQL: the issues with these codes, those of each code from its own index. */
const findText = (
  { codes, isOfCustomer }: { codes: readonly SubjectIssueCode[]; isOfCustomer: boolean },
  tables: ApplicationTables,
  { beyond, order }: Direction,
) => {
  const lists = codes.map(
    (code) => `
               (select *
                  from (${rowsOf(code, tables)}) as issue
                 where (rank, key, subject) ${beyond} ($1, $2, $3)
                   and ${isOfCustomer ? 'customer_id = $4' : '$4::text is null'}
                   and ($5 or dismissed_by is null)
                 order by key ${order}, subject ${order}
                 limit $6)`,
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
       order by listed.rank ${order}, listed.key ${order}, subject ${order}`;
};

/** Reads what the rows do not have themselves, each kind at once. */
async function withEvidence(
  { database: { query } }: IssueContext,
  rows: readonly Row[],
): Promise<OpenIssue[]> {
  const positions = rows.flatMap(({ evidence }) => evidence?.position ?? []);
  const customerIds = [...new Set(rows.flatMap(({ customerId }) => customerId ?? []))];
  const [teams, events, states] = await Promise.all([
    readNamedTeamsOf(query, customerIds),
    readEventsAt(query, positions),
    readStates(query, customerIds),
  ]);
  return rows.flatMap(({ subject: text, teamId, evidence: stored, ...row }) => {
    const { severity, remedies, evidence: evidenceOf }: SubjectIssue = ISSUES[row.code];
    const event = events.find(({ position }) => position === stored?.position) ?? null;
    const state = states.of(row.customerId);
    // Each code's function takes what its statement has stored.
    const evidence = evidenceOf(stored as never, { event, state, names: states.names });
    const subject = parseSubject(text);
    // An event that was deleted meanwhile.
    if (subject === null || evidence === null) return [];
    const ofCustomer = teams.filter((team) => team.customerId === row.customerId);
    const team = ofCustomer.find(({ id }) => teamId === null || String(id) === teamId) ?? null;
    return [{ ...row, severity, remedies, subject, team, evidence } as OpenIssue];
  });
}

/** An issue must match every given member. */
export type IssueFilter = {
  readonly code?: SubjectIssueCode | undefined;
  readonly customerId?: string | undefined;
  /** Also those that operators have dismissed. */
  readonly includesDismissed?: boolean;
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
  const { code, customerId = null, includesDismissed = false } = filter;
  const codes = code === undefined ? SUBJECT_ISSUES : [code];
  const wanted = { codes, isOfCustomer: customerId !== null };
  return searchOf<Row, OpenIssue, string>(context.database.query, {
    name: `find_issues_${code ?? 'all'}`,
    text: (tables, direction) => findText(wanted, tables, direction),
    values({ from, limit }) {
      const [, rank = -1, key = '', subject = ''] = /^(\d+) (\S*) (.*)$/s.exec(from ?? '') ?? [];
      return [Number(rank), key, subject, customerId, includesDismissed, limit];
    },
    keyOf: ({ key }) => key,
    complete: (rows) => withEvidence(context, rows),
  });
}

/** What is wrong with a team or its customer, and the action that has hidden something of the team; `null`: none has. */
export async function readIssuesOf(context: IssueContext, { id, customerId }: NamedTeam) {
  if (customerId === null) return { open: [], dismissedBy: null };
  const filter = { customerId, includesDismissed: true };
  const { rows } = await findIssues(context, filter).page({ limit: MAX_COUNTED });
  // Another team can have the same customer.
  const own = rows.filter(({ subject }) => subject.kind !== 'team' || subject.id === String(id));
  const isHidden = ({ subject, dismissedBy }: OpenIssue) =>
    subject.kind === 'team' && dismissedBy !== null;
  const open = own.filter(({ dismissedBy }) => dismissedBy === null);
  return { open, dismissedBy: own.find(isHidden)?.dismissedBy ?? null };
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
             least(count(*) filter (where dismissed_by is null), ${MAX_COUNTED}) as count,
             count(*) filter (where dismissed_by is null) >= ${MAX_COUNTED} as "isMore",
             count(dismissed_by) as hidden,
             (extract(epoch from min(since) filter (where dismissed_by is null)) * 1000)::bigint as "sinceMs"
        from (
               select since, dismissed_by
                 from (${rowsOf(code, tables)}) as issue
                limit (select ${MAX_COUNTED} + count from dismissals)
             ) as counted`,
      ).join(' union all ')}`;

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
  type Counted = { readonly code: SubjectIssueCode } & IssueCounts[SubjectIssueCode];
  const rows = await query<Counted>({ name: 'count_issues', text: COUNT_ISSUES });
  // A row for each code.
  return Object.fromEntries(rows.map(({ code, ...counts }) => [code, counts])) as IssueCounts;
}
