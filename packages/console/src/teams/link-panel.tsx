import { html } from 'hono/html';
import {
  findIssues,
  type NamedTeam,
  type OperateContext,
  type RecordedAction,
  readWaitingCustomers,
  type WaitingCustomer,
} from 'instep-operate';
import { LinkForm, ROW_FIELDS, SingleForm } from '../actions/action-form.tsx';
import { recordedText } from '../actions/action-summary.tsx';
import { MAX_CHOSEN } from '../actions/selection.ts';
import { Whose, Why } from '../attention/issue-text.tsx';
import { StripeId } from '../components/id.tsx';
import { Panel } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { teamUrl } from '../links.tsx';
import { urlWith } from '../query-parameters.ts';
import { canAct } from '../request-context.ts';

const MAX_OFFERED = 10;

/** Reads the customers to offer to a team, from the most severe issues: those that are probably the team's come first. */
export async function readOffered(
  context: OperateContext,
  forTeam: NamedTeam,
  asksStripe: boolean,
): Promise<readonly WaitingCustomer[]> {
  const codes = ['parked-events', 'customer-without-team'] as const;
  const found = codes.map((code) => findIssues(context, { code }).page({ limit: MAX_CHOSEN }));
  const issues = (await Promise.all(found)).flatMap(({ rows }) => rows);
  const waiting = await readWaitingCustomers(context, issues, { asksStripe, forTeam });
  return waiting.slice(0, MAX_OFFERED);
}

type LinkPanelProps = {
  readonly team: NamedTeam;
  /** `null` unless the team needs a customer. */
  readonly waiting: readonly WaitingCustomer[] | null;
  /** What was entered last, and what failed. */
  readonly entered: string;
  readonly failed: RecordedAction | null;
};

/** Links a team to its customer, replaces it, or takes it away. The page that follows offers the reverse action. */
export function LinkPanel({ team, waiting, entered, failed }: LinkPanelProps) {
  if (waiting === null && (team.customerId === null || !canAct())) return null;
  const error = failed?.action === 'link' ? recordedText(failed) : undefined;
  const form = { ...formOf(team), ...(error && { error, value: entered }) };
  if (waiting === null) {
    return (
      <Panel title="Customer" id="link">
        <details open={error !== undefined}>
          <summary>Replace or unlink the customer</summary>
          <p>
            The team loses the customer <OptionalText text={team.customerId} maxLength={100} /> and
            the plan that it has from it. New events of the customer then wait for a team. Linking
            it again gives the plan back.
          </p>
          <LinkForm
            {...form}
            label="Other customer"
            hint="The id at Stripe, such as cus_123. The team gets the plan of this customer."
            text="Replace customer"
          />
          <SingleForm {...formOf(team)} action="unlink" />
        </details>
      </Panel>
    );
  }
  return (
    <Panel
      title={team.customerId === null ? 'Link to a customer' : 'Link to another customer'}
      id="link"
    >
      <LinkForm
        {...form}
        label="Customer"
        hint="The id at Stripe, such as cus_123. Its events that wait for a team are replayed."
        kind="main"
      />
      {team.customerId !== null && <SingleForm {...formOf(team)} action="unlink" />}
      {waiting.length === 0 ? (
        <p>No customer waits for a team.</p>
      ) : (
        <>
          <WaitingTable team={team} waiting={waiting} />
          <p>
            <a href={urlWith('/attention', { issue: 'parked-events' })}>
              All customers that wait for a team
            </a>
          </p>
        </>
      )}
    </Panel>
  );
}

type WaitingTableProps = {
  readonly team: NamedTeam;
  readonly waiting: readonly WaitingCustomer[];
};

function WaitingTable({ team, waiting }: WaitingTableProps) {
  return (
    <Table
      label="Customers that wait for a team"
      columns={['Customer', 'Who', 'Since', { name: 'Why', class: 'wide' }, 'Link']}
      rows={waiting.map((customer) => [
        <StripeId text={customer.customerId} />,
        <Whose waiting={customer} />,
        <Time ms={customer.issue.sinceMs} format="age" />,
        <Why issue={customer.issue} />,
        <SingleForm {...formOf(team)} action="link" kind="main">
          <input
            type="hidden"
            name={`${ROW_FIELDS.link}team:${team.id}`}
            value={customer.customerId}
          />
        </SingleForm>,
      ])}
    />
  );
}

/** A form of a team whose customer has changed since is refused. */
const formOf = ({ id, customerId }: NamedTeam) => ({
  back: teamUrl(id),
  subject: { kind: 'team', id: String(id) } as const,
  expected: { customerId },
});

type DismissalNoticeProps = { readonly team: NamedTeam; readonly dismissal: RecordedAction };

/** What an operator has decided to leave as it is, and how to take that back. */
export function DismissalNotice({ team, dismissal }: DismissalNoticeProps) {
  const { note, operator, actedAtMs } = dismissal;
  return (
    <div class="notice" data-dismissal>
      <strong>Dismissed</strong> until it changes
      {note !== null && html`: ${<UntrustedText text={note} maxLength={500} />}`}
      <p class="quiet">
        <OptionalText text={operator} fallback="An operator" />,{' '}
        <Time ms={actedAtMs} format="age" />. It only hides the difference: events and repairs still
        change the team.
      </p>
      <SingleForm {...formOf(team)} action="restore" />
    </div>
  );
}
