import { Button } from '../components/button.tsx';
import { CsrfField } from '../components/csrf-field.tsx';

const BUTTONS = { 'dry run': 'Start a dry run', repair: 'Compare and repair' } as const;

type StartFormProps = { readonly how: keyof typeof BUTTONS; readonly isDisabled: boolean };

/** Begins a reconciliation. */
export function StartForm({ how, isDisabled }: StartFormProps) {
  return (
    <form method="post" action="/reconcile">
      <CsrfField />
      <input type="hidden" name="how" value={how} />
      <p>
        <Button kind={how === 'repair' ? 'danger' : 'main'} disabled={isDisabled}>
          {BUTTONS[how]}
        </Button>
      </p>
    </form>
  );
}
