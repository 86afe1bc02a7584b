import {
  type EventFilter,
  findCustomers,
  LOGGED_OUTCOMES,
  LOGGED_TYPES,
  type OperateContext,
  parseTimeSince,
  readTeam,
} from 'instep-operate';
import { quoted } from '../components/text.tsx';
import type { FilterFields } from '../links/event-links.tsx';

/** `add`: what was entered in the search bar. */
export type FieldErrors = Partial<FilterFields> & { readonly add?: string };

const FIELD_OF_PREFIX: Readonly<Record<string, keyof FilterFields>> = {
  evt: 'event',
  cus: 'customer',
  sub: 'subscription',
};

/** The filter that an id in the search bar stands for; `null`: none. */
export function filterNamed(text: string): Partial<FilterFields> | null {
  const field = FIELD_OF_PREFIX[/^([a-z]+)_/.exec(text)?.[1] ?? ''];
  if (field !== undefined) return { [field]: text };
  return /^\d+$/.test(text) ? { team: text } : null;
}

/** The filter, or the errors of its fields. */
type ParsedFilter =
  | { readonly filter: EventFilter; readonly errors: null }
  | { readonly filter: null; readonly errors: FieldErrors };

/** Parses the fields. A team stands for its customer. */
export async function parseFilter(
  context: OperateContext,
  fields: FilterFields,
  nowMs: number,
): Promise<ParsedFilter> {
  const errors: Partial<Record<keyof FilterFields, string>> = {};
  const outcome = LOGGED_OUTCOMES.find((one) => one === fields.outcome);
  if (fields.outcome !== '' && outcome === undefined) errors.outcome = 'Unknown outcome.';
  const type = LOGGED_TYPES.find((one) => one === fields.type);
  if (fields.type !== '' && type === undefined) errors.type = 'Unknown event type.';
  const sinceMs = timeOf(fields.from, nowMs);
  const untilMs = timeOf(fields.until, nowMs);
  if (sinceMs === null) errors.from = noTime(fields.from);
  if (untilMs === null) errors.until = noTime(fields.until);
  const customer = await customerOf(context, fields);
  if (customer.error !== undefined) errors.team = customer.error;
  if (sinceMs === null || untilMs === null || Object.keys(errors).length > 0) {
    return { filter: null, errors };
  }
  const eventIdPrefix = fields.event || undefined;
  const subscriptionId = fields.subscription || undefined;
  const ids = { eventIdPrefix, customerId: customer.id, subscriptionId };
  return { filter: { ...ids, type, outcome, sinceMs, untilMs }, errors: null };
}

/** A field for times can't show other texts. */
const noTime = (text: string) => `${quoted(text)} is not a time. Enter a date and a time.`;

/** The format of a browser's time field. */
const WITHOUT_ZONE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/;

/** A time in milliseconds since 1970; `undefined` when nothing was entered, `null` for any other text. */
function timeOf(text: string, nowMs: number): number | undefined | null {
  if (text === '') return undefined;
  return parseTimeSince(WITHOUT_ZONE.test(text) ? `${text}Z` : text, nowMs);
}

async function customerOf(
  context: OperateContext,
  { customer, team, subscription }: FilterFields,
): Promise<{ id?: string | undefined; error?: string }> {
  if (team === '') {
    return { id: customer === '' ? await customerOfSubscription(context, subscription) : customer };
  }
  const found = await readTeam(context, team);
  if (found === null) return { error: `There is no team ${team}.` };
  if (found.customerId === null) return { error: `Team ${team} has no customer.` };
  if (customer !== '' && customer !== found.customerId) {
    return { error: `Team ${team} has another customer.` };
  }
  return { id: found.customerId };
}

/** The customer of a subscription, which never changes. An index finds the events of a customer. */
async function customerOfSubscription(
  context: OperateContext,
  id: string,
): Promise<string | undefined> {
  if (id === '') return undefined;
  const { customerIds } = await findCustomers(context, id, 2);
  // The id could be a customer's own.
  const [only, ...others] = customerIds.filter((customerId) => customerId !== id);
  return others.length === 0 ? only : undefined;
}
