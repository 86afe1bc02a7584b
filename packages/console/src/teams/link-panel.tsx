import type { Child } from 'hono/jsx';
import {
  type Dismissal,
  findIssues,
  type NamedTeam,
  type OpenIssue,
  type OperateContext,
} from 'instep-operate';
import { Why } from '../attention/issue-table.tsx';
import { Button, Field, PostForm } from '../components/form.tsx';
import { Panel } from '../components/panels.tsx';
import { StripeId } from '../components/stripe-id.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { issuesUrl } from '../links/issue-links.tsx';
import { teamUrl } from '../links/team-links.tsx';
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
export function LinkPanel({ team, waiting, failure }: LinkPanelProps) {
  const { id, customerId } = team;
  return (
    <Panel
      title={customerId === null ? 'Link to a customer' : 'Link to another customer'}
      id="link"
    >
      <CustomerForm
        {...{ team, failure }}
        label="Customer"
        hint="The id at Stripe, such as cus_123. Its events that wait for a team are replayed."
        button={<Button kind="main">Link team</Button>}
      />
      {waiting.length === 0 ? (
        <p>No customer waits for a team.</p>
      ) : (
        <PostForm action={`${teamUrl(id)}/link`}>
          <ExpectedCustomer team={team} />
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

type CustomerFormProps = Pick<LinkPanelProps, 'team' | 'failure'> & {
  readonly label: string;
  readonly hint: string;
  readonly button: Child;
};

/** A field for the customer of the team. */
function CustomerForm({ team, failure, label, hint, button }: CustomerFormProps) {
  return (
    <PostForm action={`${teamUrl(team.id)}/link`} class="row">
      <ExpectedCustomer team={team} />
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

/** A form of a team whose customer has changed since is refused. */
function ExpectedCustomer({ team: { customerId } }: Pick<LinkPanelProps, 'team'>) {
  return <input type="hidden" name="expected" value={customerId ?? ''} />;
}

/** Replaces or takes away the customer of a team. The page that follows offers the reverse action. */
export function CustomerPanel({ team, failure }: Pick<LinkPanelProps, 'team' | 'failure'>) {
  if (!canAct()) return null;
  const { id, customerId } = team;
  return (
    <Panel title="Customer" id="link">
      <details open={failure !== null}>
        <summary>Replace or unlink the customer</summary>
        <p>
          The team loses the customer <OptionalText text={customerId} maxLength={100} /> and the
          plan that it has from it. New events of the customer then wait for a team. Linking it
          again gives the plan back.
        </p>
        <CustomerForm
          {...{ team, failure }}
          label="Other customer"
          hint="The id at Stripe, such as cus_123. The team gets the plan of this customer."
          button={<Button>Replace customer</Button>}
        />
        <PostForm action={`${teamUrl(id)}/unlink`}>
          <ExpectedCustomer team={team} />
          <Button>Unlink</Button>
        </PostForm>
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
