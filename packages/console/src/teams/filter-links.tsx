import { STATUSES, TEAM_ISSUES } from 'instep/operate';
import { UntrustedText } from '../components/text.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { type TeamFields, teamsUrl } from './team-filter.ts';

type Labels = ReadonlyMap<string, string>;

const STATUS_LABELS: Labels = new Map([
  ...Object.keys(STATUSES).map((status) => [status, status] as const),
  ['none', 'no subscription'],
  ['other', 'another status'],
]);

const ISSUE_LABELS: Labels = new Map(TEAM_ISSUES.map((code) => [code, ISSUE_NAMES[code]]));

/** Links that filter the teams. A plan is chosen in the list, by a click on it. */
export function FilterLinks({ fields }: { readonly fields: TeamFields }) {
  return (
    <nav class="filters" aria-label="Filters">
      <dl>
        <FilterRow name="Status" field="status" labels={STATUS_LABELS} fields={fields} />
        <FilterRow name="Issue" field="issue" labels={ISSUE_LABELS} fields={fields} />
        {fields.plan !== '' && (
          <FilterRow name="Plan or last plan" field="plan" labels={new Map()} fields={fields} />
        )}
      </dl>
    </nav>
  );
}

type FilterRowProps = {
  readonly name: string;
  readonly field: 'status' | 'plan' | 'issue';
  /** The label of each value. The chosen one is added. */
  readonly labels: Labels;
  readonly fields: TeamFields;
};

/** The link of the chosen value removes the filter. */
function FilterRow({ name, field, labels, fields }: FilterRowProps) {
  const chosen = fields[field];
  const values = new Set([...labels.keys(), ...(chosen === '' ? [] : [chosen])]);
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {[...values].map((value) => (
          <a
            href={teamsUrl({ ...fields, [field]: value === chosen ? '' : value })}
            aria-current={value === chosen ? 'true' : undefined}
            title={value === chosen ? 'Remove' : undefined}
          >
            <UntrustedText text={labels.get(value) ?? value} maxLength={40} />
            {value === chosen && ' ×'}
          </a>
        ))}
      </dd>
    </div>
  );
}
