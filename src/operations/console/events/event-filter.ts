import type { LoggedOutcome } from '../../../core/logged-event.ts';
import type { Query } from '../../../postgres/database.ts';
import type { EventFilter } from '../../../queries/search-events.ts';
import { readTeam } from '../../../queries/teams.ts';
import { parseTimeSince } from '../../../runtime/time-since.ts';
import { HANDLED_TYPES, SNAPSHOT_TYPE } from '../../../stripe/handled-event-type.ts';
import { queryNumber, queryText } from '../query-text.ts';

/** What stands in the fields of the filter, as it was given. Empty: nothing is asked for. */
export type FilterFields = {
  readonly customer: string;
  readonly team: string;
  readonly type: string;
  readonly outcome: string;
  readonly since: string;
};

export type FieldErrors = Partial<Record<keyof FilterFields, string>>;

/** What is asked for; or what of it makes no sense. */
export type AskedFilter =
  | { readonly filter: EventFilter; readonly errors: null }
  | { readonly filter: null; readonly errors: FieldErrors };

export const FILTER_TYPES: readonly string[] = [...HANDLED_TYPES, SNAPSHOT_TYPE];

export const FILTER_OUTCOMES: readonly LoggedOutcome[] = [
  'applied',
  'stale',
  'unchanged',
  'parked',
  'unreadable',
];

const NAMES = ['customer', 'team', 'type', 'outcome', 'since'] as const;

/** The fields, wherever they come from. */
export function readFields(given: (name: keyof FilterFields) => string | undefined): FilterFields {
  const [customer = '', team = '', type = '', outcome = '', since = ''] = NAMES.map((name) =>
    queryText(given(name)),
  );
  return { customer, team, type, outcome, since };
}

/** The address of a page with these fields. */
export function filterUrl(
  path: string,
  fields: Partial<FilterFields>,
  others: Readonly<Record<string, number>> = {},
): string {
  const parameters = new URLSearchParams();
  for (const name of NAMES) if (fields[name]) parameters.set(name, fields[name]);
  for (const [name, value] of Object.entries(others)) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/** Understands the fields. A team stands for its customer. */
export async function askedFilter(
  query: Query,
  fields: FilterFields,
  nowMs: number,
): Promise<AskedFilter> {
  const errors: FieldErrors = {};
  const outcome = FILTER_OUTCOMES.find((one) => one === fields.outcome);
  if (fields.outcome !== '' && outcome === undefined) errors.outcome = 'There is no such outcome.';
  if (fields.type !== '' && !FILTER_TYPES.includes(fields.type)) {
    errors.type = 'There are no events of this type.';
  }
  const sinceMs = fields.since === '' ? undefined : parseTimeSince(fields.since, nowMs);
  if (sinceMs === null) errors.since = 'Write 2h, 30d, 2026-05-31 or 2026-05-31T10:00Z.';
  const customer = await customerOf(query, fields);
  if (customer.error !== undefined) errors.team = customer.error;
  if (sinceMs === null || Object.keys(errors).length > 0) return { filter: null, errors };
  const type = fields.type === '' ? undefined : fields.type;
  return { filter: { customerId: customer.id, type, outcome, sinceMs }, errors: null };
}

async function customerOf(
  query: Query,
  { customer, team }: FilterFields,
): Promise<{ id?: string | undefined; error?: string }> {
  if (team === '') return { id: customer === '' ? undefined : customer };
  const teamId = queryNumber(team);
  if (teamId === null) return { error: "Write the team's id, a whole number." };
  const found = await readTeam(query, teamId);
  if (found === null) return { error: `There is no team ${teamId}.` };
  if (found.customerId === null) return { error: `Team ${teamId} has no customer yet.` };
  if (customer !== '' && customer !== found.customerId) {
    return { error: `Team ${teamId} has another customer.` };
  }
  return { id: found.customerId };
}
