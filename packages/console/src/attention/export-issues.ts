import { type Query, reasonText, whyUnreadable } from 'instep/operate/inside';
import { REASONS } from '../actions/words.ts';
import { type ExportedList, exportedTime } from '../export.ts';
import type { IssueKind } from '../links/issue-links.tsx';
import { type Cursor, type OpenIssue, readOpenIssues, teamOf } from './open-issues.ts';

const COLUMNS = [
  'problem',
  'since',
  'team',
  'name',
  'customer',
  'subscription',
  'event',
  'parked_events',
  'reason',
  'is',
  'should_be',
] as const;

type Column = (typeof COLUMNS)[number];

/** The open issues of a kind, or all of them. */
export function exportedIssues(query: Query, kind: IssueKind | null): ExportedList<Column> {
  return { name: 'attention', columns: COLUMNS, rows: issueRows(query, kind) };
}

const PAGE = 200;

async function* issueRows(query: Query, kind: IssueKind | null) {
  let cursor: Cursor | null = null;
  do {
    const page = await readOpenIssues(query, { kind, cursor, limit: PAGE });
    yield* page.issues.map(rowOf);
    cursor = page.next;
  } while (cursor !== null);
}

function rowOf(issue: OpenIssue) {
  const { kind, sinceMs, customerId } = issue;
  const team = teamOf(issue);
  const common = {
    problem: kind,
    since: exportedTime(sinceMs),
    team: team?.id ?? null,
    name: team?.name ?? null,
    customer: customerId,
    ...{ subscription: null, event: null, parked_events: null, is: null, should_be: null },
    reason: null,
  };
  if ('event' in issue) {
    const { eventId, subscriptionId } = issue.event;
    const reason = reasonText(whyUnreadable(issue.event));
    return { ...common, event: eventId, subscription: subscriptionId, reason };
  }
  if ('ambiguity' in issue) return { ...common, subscription: issue.ambiguity.subscriptionId };
  if ('parked' in issue) {
    const { newest, parked } = issue;
    const { eventId: event = null, subscriptionId: subscription = null } = newest ?? {};
    return { ...common, event, subscription, parked_events: parked.events };
  }
  const { problem, plan, shouldBe } = issue.finding;
  return {
    ...common,
    reason: REASONS[problem],
    is: plan && JSON.stringify(plan),
    should_be: shouldBe && JSON.stringify(shouldBe),
  };
}
