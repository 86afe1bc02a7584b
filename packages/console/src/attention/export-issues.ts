import { type OpenIssue, reasonText } from 'instep-operate';
import { causeText } from '../actions/words.ts';
import { type Columns, exportedTime } from '../export.ts';

/** The event that an issue is about, or the newest of several. */
function eventOf({ evidence }: OpenIssue) {
  if ('event' in evidence) return evidence.event;
  return 'newest' in evidence ? evidence.newest : null;
}

function subscriptionIdOf(issue: OpenIssue): string | null {
  const { evidence } = issue;
  if ('subscriptionId' in evidence) return evidence.subscriptionId;
  if (!('subscriptions' in evidence)) return eventOf(issue)?.subscriptionId ?? null;
  return evidence.subscriptions.map(({ subscriptionId }) => subscriptionId).join(' ');
}

function reasonOf({ evidence }: OpenIssue): string | null {
  if ('reason' in evidence) return reasonText(evidence.reason);
  return 'cause' in evidence ? causeText(evidence) : null;
}

/** The columns of exported issues. */
export const EXPORTED_ISSUE: Columns<OpenIssue> = {
  issue: ({ code }) => code,
  since: ({ sinceMs }) => exportedTime(sinceMs),
  team: ({ team }) => team?.id ?? null,
  name: ({ team }) => team?.name ?? null,
  customer: ({ customerId }) => customerId,
  subscription: subscriptionIdOf,
  event: (issue) => eventOf(issue)?.eventId ?? null,
  parked_events: ({ evidence }) => ('events' in evidence ? evidence.events : null),
  reason: reasonOf,
  is: ({ evidence }) => ('is' in evidence ? evidence.is && JSON.stringify(evidence.is) : null),
  should_be: ({ evidence }) =>
    'shouldBe' in evidence ? evidence.shouldBe && JSON.stringify(evidence.shouldBe) : null,
};
