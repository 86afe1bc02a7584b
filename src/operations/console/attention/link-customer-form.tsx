import { Button, PostForm } from '../components/form.tsx';

/** Links a customer to a team, and replays its parked events. The result is on the list of issues. */
export function LinkCustomerForm({ customerId }: { readonly customerId: string }) {
  return (
    <PostForm action="/attention" class="row">
      <div class="field">
        <label>
          Team id or name <input type="text" name="link" maxlength={200} required />
        </label>
      </div>
      <Button kind="main" name="one" value={`link customer:${customerId}`}>
        Link and replay
      </Button>
    </PostForm>
  );
}
