import * as v from 'valibot';

/** Longer than any id at Stripe, and short enough for every index of PostgreSQL. */
export const MAX_ID_LENGTH = 255;

/** Longer than any product name at Stripe (250). */
const MAX_NAME_LENGTH = 1_000;

/** The last second of the year 9999. Later values are milliseconds. */
const MAX_CREATED_SECONDS = 253_402_300_799;

/** PostgreSQL's `text` rejects NUL and lone surrogates. */
const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();

const storable = v.pipe(
  v.string(),
  v.minLength(1),
  v.check(isStorable, 'holds NUL or a lone surrogate'),
);
const id = v.pipe(storable, v.maxLength(MAX_ID_LENGTH));

const storableName = v.pipe(storable, v.maxLength(MAX_NAME_LENGTH));

/** A name that can't be stored counts as missing, because a plan must never wait for its name. */
const name = v.fallback(v.nullish(storableName), null);

/** Whether a product's name can be stored. */
export function isStorableName(text: unknown): text is string {
  return v.is(storableName, text);
}

/** Unlike Valibot's own, it rejects lists. */
function object<Entries extends v.ObjectEntries>(entries: Entries) {
  const isNoList = (value: object) => !Array.isArray(value);
  return v.pipe(v.instance(Object), v.check(isNoList, 'is a list'), v.object(entries));
}

/** An id, or the object itself when it was expanded. */
const reference = v.union([
  id,
  v.pipe(
    object({ id }),
    v.transform((expanded) => expanded.id),
  ),
]);

const product = v.union([
  v.pipe(
    id,
    v.transform((productId) => ({ id: productId, name: null })),
  ),
  object({ id, name }),
]);

const item = object({
  plan: v.nullish(object({ product: v.nullish(product), name })),
  price: v.nullish(object({ product: v.nullish(product) })),
});

const firstItem = v.pipe(
  v.array(v.unknown()),
  v.transform(([first]) => first),
  v.optional(item),
);

/** The part of a subscription that we read, in every shape that Stripe has sent since 2012. */
const subscription = object({
  id: v.nullish(id),
  customer: reference,
  status: v.pipe(storable, v.maxLength(MAX_ID_LENGTH)),
  items: v.nullish(object({ data: v.nullish(firstItem) })),
  plan: v.fallback(v.nullish(object({ name })), null),
});

const createdSeconds = v.pipe(
  v.number(),
  v.integer('is not a whole number'),
  v.minValue(0),
  v.maxValue(MAX_CREATED_SECONDS),
);

/** An event that carries a subscription. Further members are ignored. */
export const subscriptionEventShape = object({
  id: v.nullish(id),
  created: v.nullish(createdSeconds),
  data: object({ object: subscription }),
});

/**
 * The product of the first item. `plan.name` is the product's name only if there is no product: early API
 * versions had no products, and before items existed, the subscription itself had the plan. In between
 * (2017-01-27), a plan had a product and also a name of its own, which is not the product's.
 */
export function productOf({ items, plan }: v.InferOutput<typeof subscription>): {
  id: string | null;
  name: string | null;
} {
  const first = items?.data ?? undefined;
  const found = first?.plan?.product ?? first?.price?.product;
  if (found) return { id: found.id, name: found.name ?? null };
  return { id: null, name: (first === undefined ? plan : first.plan)?.name ?? null };
}
