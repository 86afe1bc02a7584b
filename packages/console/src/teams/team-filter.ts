import {
  TEAM_ISSUES,
  type TeamFilter,
  type TeamOrder,
  type TeamSort,
  type TeamsStart,
} from 'instep/operate';
import { queryText } from '../query-parameters.ts';

/** The fields of the list's address; empty ones filter nothing. */
const FIELDS = ['search', 'status', 'plan', 'product', 'issue', 'sort'] as const;

export type TeamFields = Readonly<Record<(typeof FIELDS)[number], string>>;

/** Reads the fields from the parameters of a request. */
export function readTeamFields(parameter: (name: string) => unknown): TeamFields {
  const read = (name: keyof TeamFields) => queryText(parameter(name));
  return {
    search: read('search'),
    status: read('status'),
    plan: read('plan'),
    product: read('product'),
    issue: read('issue'),
    sort: read('sort'),
  };
}

/** Where the page begins; `null`: at the first team. */
export function readStart(parameter: (name: string) => unknown): TeamsStart | null {
  for (const side of ['after', 'before'] as const) {
    const id = queryText(parameter(side));
    if (id !== '') return { side, id };
  }
  return null;
}

/** The address of the list with these fields. */
export function teamsUrl(
  fields: Partial<TeamFields>,
  others: Readonly<Record<string, string | number>> = {},
): string {
  const parameters = new URLSearchParams();
  for (const name of FIELDS) if (fields[name]) parameters.set(name, fields[name]);
  for (const [name, value] of Object.entries(others)) parameters.set(name, String(value));
  return parameters.size === 0 ? '/teams' : `/teams?${parameters}`;
}

/** The filter; an unknown issue filters nothing. */
export function teamFilterOf(fields: TeamFields): TeamFilter {
  return {
    text: fields.search || undefined,
    status: fields.status || undefined,
    plan: fields.plan || undefined,
    product: fields.product || undefined,
    issue: TEAM_ISSUES.find((one) => one === fields.issue),
  };
}

const SORTS: readonly TeamSort[] = ['id', 'name', 'status', 'plan', 'customer'];

/** The order that `plan` or `-plan` stands for; by id by default. */
export function teamOrderOf({ sort }: TeamFields): TeamOrder {
  const isDescending = sort.startsWith('-');
  const name = isDescending ? sort.slice(1) : sort;
  return { sort: SORTS.find((one) => one === name) ?? 'id', isDescending };
}

/** The text of an order. */
export function sortText({ sort, isDescending }: TeamOrder): string {
  return isDescending ? `-${sort}` : sort;
}
