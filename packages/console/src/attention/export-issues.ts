import {
  exportIssues,
  type OpenIssue,
  type OperateContext,
  reasonText,
  type SubjectIssueCode,
} from 'instep/operate';
import { causeText } from '../actions/words.ts';
import { type ExportedList, exportedTime } from '../export.ts';

const COLUMNS = [
  'issue',
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

/** The open issues with a code, or all of them. */
export function exportedIssues(
  context: OperateContext,
  code: SubjectIssueCode | null,
): ExportedList<Column> {
  async function* rows() {
    for await (const issue of exportIssues(context, code)) yield rowOf(issue);
  }
  return { name: 'attention', columns: COLUMNS, rows: rows() };
}

function rowOf(issue: OpenIssue) {
  const { code, sinceMs, customerId, team } = issue;
  const common = {
    issue: code,
    since: exportedTime(sinceMs),
    team: team?.id ?? null,
    name: team?.name ?? null,
    customer: customerId,
    ...{ subscription: null, event: null, parked_events: null, is: null, should_be: null },
    reason: null,
  };
  switch (issue.code) {
    case 'unreadable-event': {
      const { event, reason } = issue.evidence;
      const { eventId, subscriptionId } = event;
      return {
        ...common,
        event: eventId,
        subscription: subscriptionId,
        reason: reasonText(reason),
      };
    }
    case 'unknown-order':
    case 'payment-due':
      return { ...common, subscription: issue.evidence.subscriptionId };
    case 'double-billed': {
      const ids = issue.evidence.subscriptions.map(({ subscriptionId }) => subscriptionId);
      return { ...common, subscription: ids.join(' ') };
    }
    case 'parked-events': {
      const { newest, events } = issue.evidence;
      const { eventId: event = null, subscriptionId: subscription = null } = newest ?? {};
      return { ...common, event, subscription, parked_events: events };
    }
    case 'second-customer': {
      const { newest, events, suggestedTeam } = issue.evidence;
      const { eventId: event = null, subscriptionId: subscription = null } = newest ?? {};
      const { id, name } = suggestedTeam;
      return { ...common, team: id, name, event, subscription, parked_events: events };
    }
    default: {
      const { is, shouldBe } = issue.evidence;
      return {
        ...common,
        reason: causeText(issue.evidence),
        is: is && JSON.stringify(is),
        should_be: shouldBe && JSON.stringify(shouldBe),
      };
    }
  }
}
