import { Button } from '../components/button.tsx';
import { Field } from '../components/field.tsx';
import { Select } from '../components/select.tsx';
import {
  FILTER_OUTCOMES,
  FILTER_TYPES,
  type FieldErrors,
  type FilterFields,
} from './event-filter.ts';

export type FilterFormProps = {
  readonly fields: FilterFields;
  readonly errors: FieldErrors | null;
};

/** Asks which events are to be shown. */
export function FilterForm({ fields, errors }: FilterFormProps) {
  return (
    <search aria-label="Events">
      <form method="get" action="/events" class="row">
        <Field
          label="Customer"
          name="customer"
          type="search"
          value={fields.customer}
          maxlength={300}
          error={errors?.customer}
        />
        <Field
          label="Team"
          name="team"
          type="search"
          value={fields.team}
          maxlength={20}
          error={errors?.team}
        />
        <Select
          label="Type"
          name="type"
          options={choices(FILTER_TYPES, 'any type')}
          value={fields.type}
        />
        <Select
          label="Outcome"
          name="outcome"
          options={choices(FILTER_OUTCOMES, 'any outcome')}
          value={fields.outcome}
        />
        <Field
          label="Since (2h, 30d or a date)"
          name="since"
          value={fields.since}
          maxlength={40}
          error={errors?.since}
        />
        <Button kind="main">Filter</Button>
      </form>
    </search>
  );
}

function choices(values: readonly string[], all: string) {
  return [{ value: '', label: all }, ...values.map((value) => ({ value, label: value }))];
}
