import type { NamedTeam } from '../../../queries/named-teams.ts';
import { Button, Field, PostForm } from '../components/form.tsx';
import { Panel } from '../components/panels.tsx';
import { teamUrl } from './find-teams.ts';

/** Links a team to its customer. */
export function LinkPanel({ team: { id } }: { readonly team: NamedTeam }) {
  return (
    <Panel title="Link to a customer" id="link">
      <PostForm action={`${teamUrl(id)}/link`} class="row">
        <Field
          label="Customer"
          name="customer"
          hint="The id at Stripe, such as cus_123. Its parked events are replayed."
          maxlength={300}
          required
        />
        <Button kind="main">Link and replay</Button>
      </PostForm>
    </Panel>
  );
}
