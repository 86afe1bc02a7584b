import type { Context } from 'hono';
import { TEAM_ISSUES, type TeamFilter } from 'instep-operate';
import { readFields, urlWith } from '../query-parameters.ts';

const NO_FIELDS = { search: '', status: '', plan: '', issue: '' };

/** The fields of the list's address; empty ones filter nothing. */
export type TeamFields = Readonly<typeof NO_FIELDS>;

export const readTeamFields = ({ req }: Context): TeamFields =>
  readFields(NO_FIELDS, (name) => req.query(name));

/** The address of the list with these fields. */
export const teamsUrl = (
  fields: Partial<TeamFields>,
  others: Readonly<Record<string, string | number>> = {},
) => urlWith('/teams', fields, others);

/** The filter; an unknown issue filters nothing. */
export const teamFilterOf = ({ search, status, plan, issue }: TeamFields): TeamFilter => ({
  text: search || undefined,
  status: status || undefined,
  plan: plan || undefined,
  issue: TEAM_ISSUES.find((code) => code === issue),
});
