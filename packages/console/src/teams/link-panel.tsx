import type { NamedTeam } from 'instep/operate';
import {
  WaitingCounts,
  type WaitingCustomers,
  WaitingTable,
} from '../attention/waiting-customers.tsx';
import { Button, Field, PostForm } from '../components/form.tsx';
import { Panel } from '../components/panels.tsx';
import { teamUrl } from '../links/team-links.tsx';
import { canAct } from '../request-context.ts';

type LinkPanelProps = {
  readonly team: NamedTeam;
  readonly waiting: WaitingCustomers;
  readonly failure: LinkFailure | null;
};

/** The customer that could not be linked, and why. */
export type LinkFailure = { readonly customer: string; readonly error: string };

/** Links a team to its customer: one of those that wait for a team, or any other. */
export function LinkPanel({ team: { id, customerId }, waiting, failure }: LinkPanelProps) {
  const action = `${teamUrl(id)}/link`;
  return (
    <Panel
      title={customerId === null ? 'Link to a customer' : 'Link to another customer'}
      id="link"
    >
      <PostForm action={action} class="row">
        <Field
          label="Customer"
          name="customer"
          hint="The id at Stripe, such as cus_123. Its parked events are replayed."
          value={failure?.customer ?? ''}
          error={failure?.error}
          maxlength={300}
          required
        />
        <Button kind="main">Link and replay</Button>
      </PostForm>
      <p>
        <WaitingCounts {...waiting} />
      </p>
      {waiting.issues.length > 0 &&
        (canAct() ? (
          <PostForm action={action}>
            <WaitingTable {...waiting} />
          </PostForm>
        ) : (
          <WaitingTable {...waiting} />
        ))}
    </Panel>
  );
}
