import type { Child } from 'hono/jsx';
import { counted, countText, durationText, type TeamCounts, type TeamGroup } from 'instep/operate';
import { UntrustedText } from '../components/text.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { type TeamFields, teamsUrl } from './team-filter.ts';
import { countAll, countBy } from './team-groups.ts';

type FilterField = 'status' | 'plan' | 'product' | 'issue';

/** The filters, and the values that a group of teams has for each. */
const FILTERS: readonly {
  readonly field: FilterField;
  readonly name: string;
  readonly valuesOf: (group: TeamGroup) => readonly (string | null)[];
}[] = [
  { field: 'status', name: 'Status', valuesOf: ({ status }) => [status] },
  { field: 'plan', name: 'Plan or last plan', valuesOf: ({ plan }) => [plan] },
  { field: 'product', name: 'Product', valuesOf: ({ product }) => [product] },
  { field: 'issue', name: 'Issue', valuesOf: ({ issues }) => issues },
];

/** How many values of a filter are in view. */
const MAX_SHOWN = 8;

/** The labels of values that are not Stripe's own. A value can be any text, such as `constructor`. */
const LABELS: Readonly<Record<FilterField, ReadonlyMap<string, string>>> = {
  status: new Map([
    ['none', 'no subscription'],
    ['other', 'another status'],
  ]),
  plan: new Map(),
  product: new Map(),
  issue: new Map(Object.entries(ISSUE_NAMES)),
};

type FilterLinksProps = {
  readonly fields: TeamFields;
  /** `null`: not counted yet. */
  readonly counts: TeamCounts | null;
  readonly nowMs: number;
};

/** Links that filter the teams, each with its number of teams. */
export function FilterLinks({ fields, counts, nowMs }: FilterLinksProps) {
  const rows = FILTERS.flatMap((filter) => {
    const values = valuesOf(filter, fields, counts?.groups ?? []);
    return values.length === 0 ? [] : [{ ...filter, values }];
  });
  if (rows.length === 0) return null;
  return (
    <nav class="filters" aria-label="Filters">
      <dl>
        {rows.map(({ field, name, values }) => (
          <div>
            <dt>{name}</dt>
            <dd>
              <Values {...{ field, values, fields }} />
            </dd>
          </div>
        ))}
      </dl>
      {counts !== null && fields.search === '' && (
        <p class="quiet">
          {counted(countAll(counts.groups), 'team')} in all, counted{' '}
          {durationText((nowMs - counts.countedAtMs) / 1_000)} ago.
        </p>
      )}
    </nav>
  );
}

type Counted = readonly (readonly [value: string, teams: number | null])[];

/** The values of a filter among the teams that match the other filters; the chosen one always. */
function valuesOf(
  { field, valuesOf }: (typeof FILTERS)[number],
  fields: TeamFields,
  groups: readonly TeamGroup[],
): Counted {
  const others = FILTERS.filter((one) => one.field !== field && fields[one.field] !== '');
  const matching = groups.filter((group) =>
    others.every((one) => one.valuesOf(group).includes(fields[one.field])),
  );
  const values = countBy(matching, valuesOf);
  const chosen = fields[field];
  const isCounted = chosen === '' || values.some(([value]) => value === chosen);
  return isCounted ? values : [...values, [chosen, null]];
}

type ValuesProps = {
  readonly field: FilterField;
  readonly values: Counted;
  readonly fields: TeamFields;
};

function Values({ field, values, fields }: ValuesProps) {
  const chosen = fields[field];
  const linkTo = ([value, teams]: Counted[number]) => (
    <FilterLink
      href={teamsUrl({ ...fields, [field]: value === chosen ? '' : value })}
      isChosen={value === chosen}
      teams={fields.search === '' ? teams : null}
    >
      <UntrustedText text={LABELS[field].get(value) ?? value} maxLength={40} />
    </FilterLink>
  );
  const inView = values.filter(([value], index) => index < MAX_SHOWN || value === chosen);
  const rest = values.filter((one) => !inView.includes(one));
  return (
    <>
      {inView.map(linkTo)}
      {rest.length > 0 && (
        <details>
          <summary>{countText(rest.length)} more</summary>
          {rest.map(linkTo)}
        </details>
      )}
    </>
  );
}

type FilterLinkProps = {
  readonly href: string;
  readonly isChosen: boolean;
  readonly teams: number | null;
  readonly children: Child;
};

/** The link of a chosen value removes the filter. */
function FilterLink({ href, isChosen, teams, children }: FilterLinkProps) {
  return (
    <a
      href={href}
      aria-current={isChosen ? 'true' : undefined}
      title={isChosen ? 'Remove' : undefined}
    >
      {children} {teams !== null && <span class="quiet">{countText(teams)}</span>}
      {isChosen && ' ×'}
    </a>
  );
}
