import {
  type EventFilter,
  findCustomers,
  LOGGED_OUTCOMES,
  type OperateContext,
  searchedText,
  teamNamed,
} from 'instep-operate';
import { quoted } from '../components/text.tsx';

export const NO_FILTER = { search: '', outcome: '', from: '', until: '' };

/** The values of the filter's fields, as they were entered. */
export type FilterFields = Readonly<typeof NO_FILTER>;

/** The filter, or the errors of its fields. */
type ParsedFilter =
  | { readonly filter: EventFilter; readonly errors: null }
  | { readonly filter: null; readonly errors: Partial<FilterFields> };

/** Parses the fields. A team stands for its customer. */
export async function parseFilter(
  context: OperateContext,
  fields: FilterFields,
): Promise<ParsedFilter> {
  const errors: Partial<Record<keyof FilterFields, string>> = {};
  const outcome = LOGGED_OUTCOMES.find((one) => one === fields.outcome);
  if (fields.outcome !== '' && outcome === undefined) errors.outcome = 'Unknown outcome.';
  const sinceMs = timeOf(fields.from);
  const untilMs = timeOf(fields.until);
  if (sinceMs === null) errors.from = noTime(fields.from);
  if (untilMs === null) errors.until = noTime(fields.until);
  const searched = await idsSearched(context, fields.search);
  if (typeof searched === 'string') errors.search = searched;
  if (sinceMs === null || untilMs === null || Object.keys(errors).length > 0) {
    return { filter: null, errors };
  }
  const ids = typeof searched === 'string' ? {} : searched;
  return { filter: { ...ids, outcome, sinceMs, untilMs }, errors: null };
}

/** A field for times can't show other texts. */
const noTime = (text: string) => `${quoted(text)} is not a time. Enter a date and a time.`;

/** The format of a browser's time field, which means UTC. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?$/;

/** A time in milliseconds since 1970; `undefined` when nothing was entered, `null` for any other text. */
function timeOf(text: string): number | undefined | null {
  if (text === '') return undefined;
  const timeMs = TIME.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  return Number.isNaN(timeMs) ? null : timeMs;
}

const KIND_OF_PREFIX: Readonly<Record<string, string>> = {
  evt: 'event',
  cus: 'customer',
  sub: 'subscription',
};

/** What is searched for: an id, also one of Stripe's dashboard or with its kind, as in `customer:cus_1`; or a team. */
async function idsSearched(
  context: OperateContext,
  entered: string,
): Promise<EventFilter | string> {
  const text = searchedText(entered);
  if (text === '') return {};
  const [, named, rest = text] = /^(event|customer|subscription|team):(.+)$/s.exec(text) ?? [];
  const kind = named ?? KIND_OF_PREFIX[/^([a-z]+)_/.exec(text)?.[1] ?? ''];
  if (kind === 'event') return { eventId: rest };
  if (kind === 'customer') return { customerId: rest };
  if (kind === 'subscription') {
    return { subscriptionId: rest, customerId: await customerOfSubscription(context, rest) };
  }
  return await customerOfTeam(context, rest);
}

/** The customer of the only team that a text can mean. */
async function customerOfTeam(
  context: OperateContext,
  text: string,
): Promise<EventFilter | string> {
  const team = await teamNamed(context, text);
  if ('code' in team) {
    return team.code === 'no-such-team'
      ? `There is no team ${quoted(text)}.`
      : `Several teams match ${quoted(text)}. Enter the id of one.`;
  }
  return team.customerId === null
    ? `Team ${team.id} has no customer.`
    : { customerId: team.customerId };
}

/** The customer of a subscription, which never changes. An index finds the events of a customer. */
async function customerOfSubscription(
  context: OperateContext,
  id: string,
): Promise<string | undefined> {
  const { customerIds } = await findCustomers(context, id, 2);
  // The id could be a customer's own.
  const [only, ...others] = customerIds.filter((customerId) => customerId !== id);
  return others.length === 0 ? only : undefined;
}
