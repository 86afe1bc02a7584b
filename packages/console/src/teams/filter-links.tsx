import type { Child } from 'hono/jsx';
import { counted, countText, durationText, type TeamCounts, type TeamGroup } from 'instep/operate';
import { UntrustedText } from '../components/text.tsx';
import { ISSUE_NAMES } from '../links/issue-links.tsx';
import { type TeamFields, type TeamFilterName, teamsUrl } from './team-filter.ts';
import { countAll, countBy } from './team-groups.ts';

/** The filters, and the values that a group of teams has for each. */
const FILTERS: readonly {
  readonly field: TeamFilterName;
  readonly name: string;
  readonly valuesOf: (group: TeamGroup) => readonly (string | null)[];
}[] = [
  { field: 'status', name: 'Status', valuesOf: ({ status }) => [status] },
  { field: 'plan', name: 'Plan or last plan', valuesOf: ({ plan }) => [plan] },
  { field: 'product', name: 'Product', valuesOf: ({ product }) => [product] },
  { field: 'issue', name: 'Issue', valuesOf: ({ issues }) => issues },
];

/** How long a payment is due, in days; teams are not counted by this. */
const DUE_DAYS = ['1', '7', '30', '90'];

/** How many values of a filter are in view. */
const MAX_SHOWN = 8;

/** The labels of values that are not Stripe's own. A value can be any text, such as `constructor`. */
const LABELS: Readonly<Record<TeamFilterName, ReadonlyMap<string, string>>> = {
  status: new Map([
    ['none', 'no subscription'],
    ['other', 'another status'],
  ]),
  plan: new Map(),
  product: new Map(),
  issue: new Map(Object.entries(ISSUE_NAMES)),
  due: new Map(DUE_DAYS.map((days) => [days, `for ${counted(Number(days), 'day')}`])),
};

type FilterLinksProps = {
  readonly fields: TeamFields;
  /** `null`: not counted yet. */
  readonly counts: TeamCounts | null;
  readonly nowMs: number;
};

/** Links that filter the teams, each with its number of teams. */
export function FilterLinks({ fields, counts, nowMs }: FilterLinksProps) {
  const days = new Set([...DUE_DAYS, ...fields.due]);
  const due: Counted = [...days].map((one) => [one, null]);
  const rows = [
    ...FILTERS.map((filter) => ({
      ...filter,
      values: valuesOf(filter, fields, counts?.groups ?? []),
    })),
    { field: 'due' as const, name: 'Unpaid or past due', values: due },
  ].filter(({ values }) => values.length > 0);
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
          {durationText(nowMs - counts.countedAtMs)} ago.
        </p>
      )}
    </nav>
  );
}

type Counted = readonly (readonly [value: string, teams: number | null])[];

/** The groups of the teams that match the filters by which teams are counted. */
export function groupsMatching(groups: readonly TeamGroup[], fields: TeamFields): TeamGroup[] {
  return groups.filter((group) =>
    FILTERS.every(
      ({ field, valuesOf }) =>
        fields[field].length === 0 ||
        valuesOf(group).some((value) => value !== null && fields[field].includes(value)),
    ),
  );
}

/** The values of a filter among the teams that match the other filters; the chosen one always. */
function valuesOf(
  { field, valuesOf }: (typeof FILTERS)[number],
  fields: TeamFields,
  groups: readonly TeamGroup[],
): Counted {
  const matching = groupsMatching(groups, { ...fields, [field]: [] });
  const values = countBy(matching, valuesOf);
  const known = values.map(([value]) => value);
  const others = fields[field].filter((value) => !known.includes(value));
  return [...values, ...others.map((value) => [value, null] as const)];
}

type ValuesProps = {
  readonly field: TeamFilterName;
  readonly values: Counted;
  readonly fields: TeamFields;
};

function Values({ field, values, fields }: ValuesProps) {
  const chosen = fields[field];
  const linkTo = ([value, teams]: Counted[number]) => (
    <FilterLink
      href={teamsUrl({
        ...fields,
        [field]: chosen.includes(value)
          ? chosen.filter((one) => one !== value)
          : [...chosen, value],
      })}
      isChosen={chosen.includes(value)}
      teams={fields.search === '' ? teams : null}
    >
      <UntrustedText text={LABELS[field].get(value) ?? value} maxLength={40} />
    </FilterLink>
  );
  const inView = values.filter(([value], index) => index < MAX_SHOWN || chosen.includes(value));
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
