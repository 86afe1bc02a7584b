import type { Context } from 'hono';
import { TEAM_ISSUES, TEAM_SORTS, type TeamFilter, type TeamOrder } from 'instep/operate';
import { queryNumber, queryText, urlWith } from '../query-parameters.ts';

/** The filters of the list; a team must have one of the values of each. */
export const TEAM_FILTERS = ['status', 'plan', 'product', 'issue', 'due'] as const;

export type TeamFilterName = (typeof TEAM_FILTERS)[number];

/** The fields of the list's address; empty ones filter nothing. */
export type TeamFields = Readonly<Record<'search' | 'sort', string>> &
  Readonly<Record<TeamFilterName, readonly string[]>>;

const MAX_VALUES = 20;

export function readTeamFields({ req }: Context): TeamFields {
  const read = TEAM_FILTERS.map((name) => {
    const values = (req.queries(name) ?? []).map(queryText).filter((value) => value !== '');
    return [name, [...new Set(values)].slice(0, MAX_VALUES)] as const;
  });
  const filters = Object.fromEntries(read) as Record<TeamFilterName, string[]>;
  return { search: queryText(req.query('search')), ...filters, sort: queryText(req.query('sort')) };
}

/** The address of the list with these fields. */
export const teamsUrl = (
  fields: Partial<TeamFields>,
  others: Readonly<Record<string, string | number>> = {},
) => urlWith('/teams', fields, others);

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The filter; an unknown issue filters nothing, and neither does what is no number of days. */
export function teamFilterOf(fields: TeamFields, nowMs: number): TeamFilter {
  const given = <Value>(values: readonly Value[]) => (values.length === 0 ? undefined : values);
  const days = fields.due.flatMap((text) => queryNumber(text) ?? []);
  return {
    text: fields.search || undefined,
    status: given(fields.status),
    plan: given(fields.plan),
    product: given(fields.product),
    issue: given(TEAM_ISSUES.filter((one) => fields.issue.includes(one))),
    dueBeforeMs: days.length === 0 ? undefined : Math.max(0, nowMs - Math.min(...days) * DAY_MS),
  };
}

/** The order that `plan` or `-plan` stands for; by id by default. */
export function teamOrderOf({ sort }: TeamFields): TeamOrder {
  const isDescending = sort.startsWith('-');
  const name = isDescending ? sort.slice(1) : sort;
  return { sort: TEAM_SORTS.find((one) => one === name) ?? 'id', isDescending };
}

/** The text of an order. */
export function sortText({ sort, isDescending }: TeamOrder): string {
  return isDescending ? `-${sort}` : sort;
}
