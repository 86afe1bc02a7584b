import {
  countText,
  type IssueCounts,
  type SubjectIssueCode,
  type TeamIssueCode,
} from 'instep-operate';
import { urlWith } from '../query-parameters.ts';

/** The name of each issue, in a list of issues or teams. */
export const ISSUE_NAMES: Readonly<Record<SubjectIssueCode | TeamIssueCode, string>> = {
  'out-of-sync': 'out of sync',
  'changed-by-hand': 'changed by hand',
  'plan-refused': 'plan refused',
  'unknown-customer': 'unknown customer',
  'customer-without-team': 'customer without a team',
  'parked-events': 'waiting for a team',
  'unknown-order': 'unknown order',
  'unreadable-event': 'unreadable event',
  'paid-without-plan': 'paid without a plan',
  'payment-due': 'payment due',
  'end-not-confirmed': 'end not confirmed',
  'double-billed': 'double billed',
  'products-without-name': 'plan without a name',
};

/** `2`, or `100+` where counting stopped. */
export function issueCountText({ count, isMore }: IssueCounts[SubjectIssueCode]): string {
  return isMore ? countText(count, count) : countText(count);
}

/** The address of the list, or of a part of it. */
export const issuesUrl = (
  issue: SubjectIssueCode | null,
  others: Readonly<Record<string, string>> = {},
) => urlWith('/attention', { issue }, others);
