import { Button, PostForm } from '../components/form.tsx';
import { LINK_FIELD } from './selection.ts';

/** Links a customer to a team, and replays its parked events. The result is on the list of issues. */
export function LinkCustomerForm({ customerId }: { readonly customerId: string }) {
  const subject = `customer:${customerId}`;
  return (
    <PostForm action="/attention" class="row">
      <div class="field">
        <label>
          Team id or name{' '}
          <input type="text" name={`${LINK_FIELD}${subject}`} maxlength={200} required />
        </label>
      </div>
      <Button kind="main" name="one" value={`link ${subject}`}>
        Link and replay
      </Button>
    </PostForm>
  );
}
