// The fields of a plan. Whatever reads, writes, stores or compares plans iterates over this table.

import type { SubscriptionEvent } from './event.ts';
import { asObject, isInteger, isList, type Json, type JsonObject } from './json.ts';

/** The types of the fields in SQL, with the type of their values here. Times are in whole seconds since 1970. */
type FieldTypes = { text: string; bigint: number; boolean: boolean; timestamptz: number };

type PlanField = {
  /** As the contract names it. The columns of Instep's tables are its words with underscores. */
  readonly name: string;
  readonly type: keyof FieldTypes;
  /** Whether the contract has it. The other fields are written where the application's table has a column for them. */
  readonly isRequired: boolean;
  /** What a status does that clears the plan (docs/contract.md, section 3). One that grants it sets every field. */
  readonly whenCleared: 'null' | 'set';
  readonly read: (event: SubscriptionEvent) => Json;
};

export const PLAN_FIELDS = [
  {
    name: 'subscriptionStatus',
    type: 'text',
    isRequired: true,
    whenCleared: 'set',
    read: ({ subscription }) => subscription.status,
  },
  {
    name: 'planName',
    type: 'text',
    isRequired: true,
    whenCleared: 'null',
    read: ({ subscription }) => subscription.planName,
  },
  {
    name: 'providerProductId',
    type: 'text',
    isRequired: true,
    whenCleared: 'null',
    read: ({ subscription }) => subscription.productId,
  },
  {
    name: 'providerSubscriptionId',
    type: 'text',
    isRequired: true,
    whenCleared: 'null',
    read: ({ subscription }) => subscription.subscriptionId,
  },
  {
    name: 'priceId',
    type: 'text',
    isRequired: false,
    whenCleared: 'null',
    read: ({ object }) => id(priceIn(object).id),
  },
  {
    name: 'quantity',
    type: 'bigint',
    isRequired: false,
    whenCleared: 'null',
    read: ({ object }) =>
      wholeNumber(firstItemIn(object).quantity ?? object.quantity, Number.MAX_SAFE_INTEGER),
  },
  {
    name: 'currentPeriodEndsAt',
    type: 'timestamptz',
    isRequired: false,
    whenCleared: 'null',
    read: ({ object }) => firstPeriodEnd(object) ?? seconds(object.current_period_end),
  },
  {
    name: 'cancelAtPeriodEnd',
    type: 'boolean',
    isRequired: false,
    whenCleared: 'null',
    read: ({ object }) => flag(object.cancel_at_period_end),
  },
  {
    name: 'trialEndsAt',
    type: 'timestamptz',
    isRequired: false,
    whenCleared: 'null',
    read: ({ object }) => seconds(object.trial_end),
  },
] as const satisfies readonly PlanField[];

export type PlanFieldName = (typeof PLAN_FIELDS)[number]['name'];

type Field = (typeof PLAN_FIELDS)[number];

type FieldValue<Name extends PlanFieldName> =
  | FieldTypes[Extract<Field, { name: Name }>['type']]
  | null;

/** A field of a plan that the contract has. */
export type ContractField = Extract<Field, { isRequired: true }>['name'];

/** The fields of a plan that the contract has, in the order in which they are shown. */
export const CONTRACT_FIELDS: readonly ContractField[] = PLAN_FIELDS.flatMap((field) =>
  field.isRequired ? field.name : [],
);

/** A team's plan. A field is `null` when it was cleared, or when Stripe did not send it; of the others, then also missing. */
export type Plan = { readonly [Name in ContractField]: FieldValue<Name> } & {
  readonly [Name in Exclude<PlanFieldName, ContractField>]?: FieldValue<Name>;
};

/** The plan in a team's row: only the fields that its table has a column for, also those that are null. */
export type PlanInRow = { readonly [Name in PlanFieldName]?: FieldValue<Name> };

/** The part of a plan that this row can hold. */
export function partOf(plan: Plan, row: PlanInRow): PlanInRow {
  return Object.fromEntries(
    PLAN_FIELDS.filter(({ name }) => name in row).map(({ name }) => [name, plan[name] ?? null]),
  );
}

/** The fields of a row's plan that the contract has; all of them, if the contract has none. */
export function contractPart(row: PlanInRow): PlanInRow {
  const names = CONTRACT_FIELDS.filter((name) => name in row);
  return names.length === 0 ? row : Object.fromEntries(names.map((name) => [name, row[name]]));
}

/** A plan with these values. A value of another type than its field has counts as missing. */
export function planWith(read: (field: Field) => unknown): Plan {
  const values: Record<string, unknown> = {};
  for (const field of PLAN_FIELDS) {
    const value = read(field);
    const isPresent = typeof value === TYPE_OF[field.type];
    if (isPresent || field.isRequired) values[field.name] = isPresent ? value : null;
  }
  // Each value was compared with the type of its field.
  return values as Plan;
}

const TYPE_OF = {
  text: 'string',
  bigint: 'number',
  boolean: 'boolean',
  timestamptz: 'number',
} as const satisfies Record<keyof FieldTypes, string>;

function firstItemIn(subscription: JsonObject): JsonObject {
  const items = asObject(subscription.items)?.data;
  return asObject(isList(items) ? items[0] : null) ?? {};
}

/** The items of a subscription can have periods of their own, of which the first one ends it or bills it. */
function firstPeriodEnd(subscription: JsonObject): number | null {
  const items = asObject(subscription.items)?.data;
  if (!isList(items)) return null;
  const ends = items.flatMap((item) => seconds(asObject(item)?.current_period_end) ?? []);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** Before prices, a subscription's item had a plan, and before items, the subscription itself. */
function priceIn(subscription: JsonObject): JsonObject {
  const item = firstItemIn(subscription);
  return asObject(item.price ?? item.plan ?? subscription.plan) ?? {};
}

/** The last second of the year 9999. A later time is in milliseconds, and can't be read. */
export const MAX_SECONDS = 253_402_300_799;

/** A time in whole seconds since 1970. */
export const seconds = (value: Json | undefined) => wholeNumber(value, MAX_SECONDS);

export const flag = (value: Json | undefined) => (typeof value === 'boolean' ? value : null);

function wholeNumber(value: Json | undefined, max: number): number | null {
  return isInteger(value) && value >= 0 && value <= max ? value : null;
}

/** Longer than any id at Stripe. */
const MAX_ID_LENGTH = 255;

/** PostgreSQL's `text` rejects NUL and lone surrogates. */
function id(value: Json | undefined): string | null {
  const isStorable =
    typeof value === 'string' &&
    value.length <= MAX_ID_LENGTH &&
    !value.includes('\0') &&
    value.isWellFormed();
  return isStorable ? value : null;
}
