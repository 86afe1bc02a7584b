import type { Child } from 'hono/jsx';
import { countBy, type TeamCounts, type TeamGroup } from '../../../queries/team-counts.ts';
import { countText, durationText } from '../../count-text.ts';
import { UntrustedText } from '../components/text.tsx';
import { type TeamFields, teamsUrl } from './team-filter.ts';

type FacetField = 'status' | 'plan' | 'product' | 'problem';

/** The facets, and the values that a group of teams has of each. */
const FACETS: readonly {
  readonly field: FacetField;
  readonly name: string;
  readonly valuesOf: (group: TeamGroup) => readonly (string | null)[];
}[] = [
  { field: 'status', name: 'Status', valuesOf: ({ status }) => [status] },
  { field: 'plan', name: 'Plan', valuesOf: ({ plan }) => [plan] },
  { field: 'product', name: 'Product', valuesOf: ({ product }) => [product] },
  { field: 'problem', name: 'Problem', valuesOf: ({ problems }) => problems },
];

/** How many values of a facet are in view. */
const MAX_SHOWN = 8;

/** The labels of values that are not Stripe's statuses. */
const STATUS_NAMES: Readonly<Record<string, string>> = {
  none: 'no subscription',
  other: 'another status',
};

type TeamFacetsProps = {
  readonly fields: TeamFields;
  /** `null`: not counted yet. */
  readonly counts: TeamCounts | null;
  readonly nowMs: number;
};

/** Links that filter the teams, each with its number of teams. */
export function TeamFacets({ fields, counts, nowMs }: TeamFacetsProps) {
  const rows = FACETS.flatMap((facet) => {
    const values = valuesOf(facet, fields, counts?.groups ?? []);
    return values.length === 0 ? [] : [{ ...facet, values }];
  });
  if (rows.length === 0) return null;
  return (
    <nav class="facets" aria-label="Filters">
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
      {counts !== null && (
        <p class="quiet">Counted {durationText((nowMs - counts.countedAtMs) / 1_000)} ago.</p>
      )}
    </nav>
  );
}

type Counted = readonly (readonly [value: string, teams: number | null])[];

/** The values of a facet among the teams that match the other filters; the chosen one always. */
function valuesOf(
  { field, valuesOf }: (typeof FACETS)[number],
  fields: TeamFields,
  groups: readonly TeamGroup[],
): Counted {
  const others = FACETS.filter((one) => one.field !== field && fields[one.field] !== '');
  const matching = groups.filter((group) =>
    others.every((one) => one.valuesOf(group).includes(fields[one.field])),
  );
  const counted = countBy(matching, valuesOf);
  const chosen = fields[field];
  const isCounted = chosen === '' || counted.some(([value]) => value === chosen);
  return isCounted ? counted : [...counted, [chosen, null]];
}

type ValuesProps = {
  readonly field: FacetField;
  readonly values: Counted;
  readonly fields: TeamFields;
};

function Values({ field, values, fields }: ValuesProps) {
  const chosen = fields[field];
  const linkTo = ([value, teams]: Counted[number]) => (
    <FacetLink
      href={teamsUrl({ ...fields, [field]: value === chosen ? '' : value })}
      isChosen={value === chosen}
      teams={fields.search === '' ? teams : null}
    >
      <UntrustedText text={STATUS_NAMES[value] ?? value} maxLength={40} />
    </FacetLink>
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

type FacetLinkProps = {
  readonly href: string;
  readonly isChosen: boolean;
  readonly teams: number | null;
  readonly children: Child;
};

/** The link of a chosen value removes the filter. */
function FacetLink({ href, isChosen, teams, children }: FacetLinkProps) {
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
