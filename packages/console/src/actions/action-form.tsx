import type { PropsWithChildren } from 'hono/jsx';
import { type Action, type Subject, subjectText, type WaitingCustomer } from 'instep-operate';
import { Whose } from '../attention/issue-text.tsx';
import { Button, Field, type FieldProps, PostForm } from '../components/form.tsx';
import { BUTTONS } from './words.ts';

/** The names of a row's fields begin like these, and end with its subject. */
export const ROW_FIELDS = {
  /** Its team or its customer. */
  link: 'link ',
  /** A button that links it to one of the teams that its text can mean. */
  choose: 'choose ',
  /** The team's customer, as the page shows it. */
  customer: 'customer of ',
  /** The plan that it gets; without this field, the one that was given is taken away. */
  plan: 'plan of ',
  /** Whether the plan may be one that no team has had. */
  isNewPlan: 'new plan of ',
} as const;

export type Expected = { readonly customerId?: string | null };

type ExpectedFieldsProps = { readonly subject: string; readonly expected: Expected };

/** An action on what has changed since the page was shown is refused. */
export function ExpectedFields({ subject, expected }: ExpectedFieldsProps) {
  const name = ROW_FIELDS.customer + subject;
  return <input type="hidden" name={name} value={expected.customerId ?? ''} />;
}

type ActionFormProps = PropsWithChildren<{
  /** The page that shows the result. */
  readonly back: string;
  readonly class?: string;
  /** Whether the page itself shows what would change, so that nobody has to be asked. */
  readonly isConfirmed?: boolean;
}>;

/** A form for actions on rows, or on the only subject of a page. */
export function ActionForm({ back, isConfirmed = false, children, ...rest }: ActionFormProps) {
  return (
    <PostForm action="/actions" {...rest}>
      <input type="hidden" name="back" value={back} />
      {isConfirmed && <input type="hidden" name="confirmed" value="yes" />}
      {children}
    </PostForm>
  );
}

type SingleFormProps = ActionFormProps & {
  readonly action: Action;
  readonly subject: Subject;
  readonly expected?: Expected;
  readonly kind?: 'main' | 'quiet';
  /** The button's text, if it is not the action's own. */
  readonly text?: string;
};

/** A button for one action on one subject, with its fields as children. */
export function SingleForm(props: SingleFormProps) {
  const { action, subject: about, expected = {}, kind, text, children, ...rest } = props;
  const subject = subjectText(about);
  return (
    <ActionForm {...rest}>
      <ExpectedFields {...{ subject, expected }} />
      {children}
      <Button kind={kind ?? 'quiet'} name="one" value={`${action} ${subject}`}>
        {text ?? BUTTONS[action]}
      </Button>
    </ActionForm>
  );
}

type LinkFormProps = Pick<SingleFormProps, 'back' | 'subject' | 'expected' | 'kind' | 'text'> &
  Pick<FieldProps, 'label' | 'hint' | 'value' | 'error'>;

/** Links a customer to a team, or a team to a customer, and replays the events that wait for it. */
export function LinkForm({ label, hint, value, error, ...rest }: LinkFormProps) {
  return (
    <SingleForm action="link" class="row" {...rest}>
      <Field
        {...{ label, hint, value, error }}
        name={ROW_FIELDS.link + subjectText(rest.subject)}
        id={`link-${rest.subject.id}`}
        maxlength={300}
        required
      />
    </SingleForm>
  );
}

type LinkCustomerFormProps = {
  readonly customerId: string;
  readonly waiting: WaitingCustomer | undefined;
  readonly back: string;
};

export function LinkCustomerForm({ customerId, waiting, back }: LinkCustomerFormProps) {
  const suggested = waiting?.suggested ?? null;
  return (
    <>
      <Whose waiting={waiting} />
      <LinkForm
        back={back}
        subject={{ kind: 'customer', id: customerId }}
        label="Team id, name or email address"
        kind="main"
        value={suggested === null ? undefined : String(suggested.id)}
      />
    </>
  );
}
