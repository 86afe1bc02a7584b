import {
  countText,
  type IssueCounts,
  type SubjectIssueCode,
  type TeamIssueCode,
} from 'instep-operate';
import { Button, Field, PostForm } from '../components/form.tsx';
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

/** The name of a row's field for its team or its customer begins like this. */
export const LINK_FIELD = 'link ';

/** The names of the fields with what an action on a row expects begin like these: the team's customer, and the newest dismissal. */
export const EXPECTED_FIELDS = { customer: 'customer of ', dismissal: 'dismissal of ' } as const;

type ExpectedFieldsProps = {
  readonly subject: string;
  readonly customerId: string | null;
  readonly dismissalId: number | null;
};

/** What the page shows of a row: an action on what has changed since is refused. */
export function ExpectedFields({ subject, customerId, dismissalId }: ExpectedFieldsProps) {
  const { customer, dismissal } = EXPECTED_FIELDS;
  return (
    <>
      <input type="hidden" name={customer + subject} value={customerId ?? ''} />
      <input type="hidden" name={dismissal + subject} value={String(dismissalId ?? '')} />
    </>
  );
}

/** The name of a button that links a row to one of the teams that its text can mean begins like this. */
export const CHOOSE_FIELD = 'choose ';

/** Links a customer to a team, and replays its parked events. The result is on the list of issues. */
export function LinkCustomerForm({ customerId }: { readonly customerId: string }) {
  const subject = `customer:${customerId}`;
  return (
    <PostForm action="/attention" class="row">
      <Field
        label="Team id or name"
        name={`${LINK_FIELD}${subject}`}
        id={`team-of-${customerId}`}
        required
      />
      <Button kind="main" name="one" value={`link ${subject}`}>
        Link team
      </Button>
    </PostForm>
  );
}
