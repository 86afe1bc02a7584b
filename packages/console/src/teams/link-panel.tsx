import type { Child } from 'hono/jsx';
import {
  type Dismissal,
  type EventRow,
  findIssues,
  type NamedTeam,
  type OpenIssue,
  type OperateContext,
  subscriptionOf,
} from 'instep/operate';
import { Why } from '../attention/issue-table.tsx';
import { StatusBadge } from '../components/badges.tsx';
import { Button, Confirm, Field, PostForm } from '../components/form.tsx';
import { Facts, Panel } from '../components/panels.tsx';
import { shortPlan } from '../components/plan-step.tsx';
import { StripeId } from '../components/stripe-id.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { issuesUrl } from '../links/issue-links.tsx';
import { TeamLink, teamName, teamUrl } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { canAct } from '../request-context.ts';

/** Customers that have no team, the most severe first. */
export type WaitingCustomers = readonly OpenIssue[];

const MAX_OFFERED = 10;

/** Reads the first customers that wait for a team. */
export async function readWaitingCustomers(context: OperateContext): Promise<WaitingCustomers> {
  const codes = ['parked-events', 'customer-without-team'] as const;
  const found = codes.map((code) => findIssues(context, code).first(MAX_OFFERED));
  const issues = (await Promise.all(found)).flatMap((first) => first.issues);
  return issues.filter(({ team }) => team === null).slice(0, MAX_OFFERED);
}

type LinkPanelProps = {
  readonly team: NamedTeam;
  readonly waiting: WaitingCustomers;
  readonly failure: LinkFailure | null;
};

/** The customer that could not be linked, and why. */
export type LinkFailure = { readonly customer: string; readonly error: string };

/** Links a team to its customer: one of those that wait for a team, or any other. */
export function LinkPanel({ team: { id, customerId }, waiting, failure }: LinkPanelProps) {
  return (
    <Panel
      title={customerId === null ? 'Link to a customer' : 'Link to another customer'}
      id="link"
    >
      <CustomerForm
        {...{ id, failure }}
        expected={customerId ?? ''}
        label="Customer"
        hint="The id at Stripe, such as cus_123. Its events that wait for a team are replayed."
        button={<Button kind="main">Link team</Button>}
      />
      {waiting.length === 0 ? (
        <p>No customer waits for a team.</p>
      ) : (
        <PostForm action={`${teamUrl(id)}/link`}>
          <input type="hidden" name="expected" value={customerId ?? ''} />
          <Table
            label="Customers that wait for a team"
            columns={['Customer', 'Since', { name: 'Why', class: 'wide' }, 'Link']}
            rows={waiting.map((issue) => [
              <StripeId text={issue.customerId} />,
              <Time ms={issue.sinceMs} format="age" />,
              <Why issue={issue} />,
              <Button kind="main" name="customer" value={issue.customerId ?? ''}>
                Link team
              </Button>,
            ])}
          />
          <p>
            <a href={issuesUrl('parked-events')}>All customers that wait for a team</a>
          </p>
        </PostForm>
      )}
    </Panel>
  );
}

type CustomerFormProps = Pick<LinkPanelProps, 'failure'> & {
  readonly id: NamedTeam['id'];
  /** The customer that the team has, if nothing is asked before it is replaced. */
  readonly expected?: string;
  readonly label: string;
  readonly hint: string;
  readonly button: Child;
};

/** A field for the customer of the team. */
function CustomerForm({ id, failure, expected, label, hint, button }: CustomerFormProps) {
  return (
    <PostForm action={`${teamUrl(id)}/link`} class="row">
      {expected !== undefined && <input type="hidden" name="expected" value={expected} />}
      <Field
        {...{ label, hint }}
        name="customer"
        value={failure?.customer ?? ''}
        error={failure?.error}
        maxlength={300}
        required
      />
      {button}
    </PostForm>
  );
}

type CustomerPanelProps = Pick<LinkPanelProps, 'team' | 'failure'>;

/** Replaces or takes away the customer of a team. Each asks first, and shows its effects. */
export function CustomerPanel({ team: { id }, failure }: CustomerPanelProps) {
  if (!canAct()) return null;
  return (
    <Panel title="Customer" id="link">
      <details open={failure !== null}>
        <summary>Replace or unlink the customer</summary>
        <CustomerForm
          {...{ id, failure }}
          label="Other customer"
          hint="The id at Stripe, such as cus_123. The next page shows the effects."
          button={<Button>Replace customer…</Button>}
        />
        <p>
          <a class="button" href={`${teamUrl(id)}/unlink`}>
            Unlink…
          </a>
        </p>
      </details>
    </Panel>
  );
}

type DismissalNoticeProps = Pick<LinkPanelProps, 'team'> & { readonly dismissal: Dismissal };

/** What an operator has decided to leave as it is, and how to take that back. */
export function DismissalNotice({ team: { id }, dismissal }: DismissalNoticeProps) {
  const { note, operator, dismissedAtMs, untilMs } = dismissal;
  return (
    <div class="notice" data-dismissal>
      <strong>Dismissed</strong>{' '}
      {untilMs === null ? (
        'until it changes'
      ) : (
        <>
          until <Time ms={untilMs} format="slot" />
        </>
      )}
      {note !== null && (
        <>
          : <UntrustedText text={note} maxLength={500} />
        </>
      )}
      <p class="quiet">
        <OptionalText text={operator} fallback="An operator" />,{' '}
        <Time ms={dismissedAtMs} format="age" />. No repair changes this team meanwhile; new events
        do.
      </p>
      <PostForm action={`${teamUrl(id)}/restore`}>
        <input type="hidden" name="expected" value={String(dismissal.id)} />
        <Button>Restore</Button>
      </PostForm>
    </div>
  );
}

/** Asks before a team loses its customer. */
export function UnlinkQuestion({ team }: Pick<LinkPanelProps, 'team'>) {
  const { id, customerId, plan } = team;
  return (
    <Page title={`Unlink ${teamName(team)}?`} area="Teams">
      <p>
        <TeamLink id={id} team={team} /> loses the customer{' '}
        <OptionalText text={customerId} maxLength={100} /> and its plan,{' '}
        <UntrustedText text={shortPlan(plan)} />, unless your app gave it that plan. New events of
        the customer wait for a team. Its events stay in the log, and linking it again gives the
        plan back.
      </p>
      <Confirm action={`${teamUrl(id)}/unlink`} back={teamUrl(id)} button="Unlink">
        <input type="hidden" name="expected" value={customerId ?? ''} />
      </Confirm>
    </Page>
  );
}

type ReplaceQuestionProps = Pick<LinkPanelProps, 'team'> & {
  readonly customerId: string;
  /** The newest event of the new customer. */
  readonly newest: EventRow | null;
  /** The teams that have the new customer now. */
  readonly others: readonly NamedTeam[];
};

/** Asks before a team gets another customer, and shows what each of them gives it. */
export function ReplaceQuestion({ team, customerId, newest, others }: ReplaceQuestionProps) {
  const { id, customerId: former, plan } = team;
  const subscription = newest === null ? null : subscriptionOf(newest);
  return (
    <Page title={`Replace the customer of ${teamName(team)}?`} area="Teams">
      <Facts
        facts={[
          [
            'Now',
            <>
              <OptionalText text={former} maxLength={100} />:{' '}
              <UntrustedText text={shortPlan(plan)} />
            </>,
          ],
          [
            'Then',
            <>
              <UntrustedText text={customerId} maxLength={100} />,{' '}
              <StatusBadge status={subscription?.status ?? null} />{' '}
              <OptionalText text={subscription?.planName ?? subscription?.productId ?? null} />
            </>,
          ],
        ]}
      />
      {newest === null && (
        <p>No event of this customer is known. Instep then asks Stripe for its subscriptions.</p>
      )}
      {others.map((other) => (
        <p>
          <TeamLink id={other.id} team={other} /> has this customer too.
        </p>
      ))}
      <Confirm action={`${teamUrl(id)}/link`} back={teamUrl(id)} button="Replace customer">
        <input type="hidden" name="customer" value={customerId} />
        <input type="hidden" name="expected" value={former ?? ''} />
      </Confirm>
    </Page>
  );
}
