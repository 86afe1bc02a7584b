import {
  TEAM_ISSUES,
  type TeamFilter,
  type TeamOrder,
  type TeamSort,
  type TeamsStart,
} from 'instep/operate';
import { queryText, urlWith } from '../query-parameters.ts';

/** The fields of the list's address; empty ones filter nothing. */
export const NO_TEAM_FILTER = {
  search: '',
  status: '',
  plan: '',
  product: '',
  issue: '',
  sort: '',
};

export type TeamFields = Readonly<typeof NO_TEAM_FILTER>;

/** Where the page begins; `null`: at the first team. */
export function readStart(parameter: (name: string) => unknown): TeamsStart | null {
  for (const side of ['after', 'before'] as const) {
    const id = queryText(parameter(side));
    if (id !== '') return { side, id };
  }
  return null;
}

/** The address of the list with these fields. */
export const teamsUrl = (
  fields: Partial<TeamFields>,
  others: Readonly<Record<string, string | number>> = {},
) => urlWith('/teams', fields, others);

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
