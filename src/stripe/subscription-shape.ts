import { z } from 'zod';

/** Longer than any id of Stripe's, and short enough for every index of PostgreSQL. */
export const MAX_ID_LENGTH = 255;

/** Longer than any product's name at Stripe (250). */
const MAX_NAME_LENGTH = 1_000;

/** The last second of the year 9999: later ones are milliseconds, taken for seconds. */
const MAX_CREATED_SECONDS = 253_402_300_799;

/** PostgreSQL's text holds neither NUL nor half a surrogate pair. */
const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();

const storable = z.string().min(1).refine(isStorable, 'holds NUL or a lone surrogate');
const id = storable.max(MAX_ID_LENGTH);

const storableName = storable.max(MAX_NAME_LENGTH);

/** A name that cannot be kept is no name: an entitlement never fails for want of one. */
const name = storableName.nullish().catch(null);

/** Whether a product's name can be kept. */
export function isStorableName(text: unknown): text is string {
  return storableName.safeParse(text).success;
}

/** Stripe sends an id, or the object itself when it was expanded. */
const reference = z.union([id, z.object({ id }).transform((object) => object.id)]);

const product = z.union([
  id.transform((productId) => ({ id: productId, name: null })),
  z.object({ id, name }),
]);

const item = z.object({
  plan: z.object({ product: product.nullish(), name }).nullish(),
  price: z.object({ product: product.nullish() }).nullish(),
});

/** The subscription object (contract, section 2) in every shape that Stripe has sent since 2012. */
const subscription = z.object({
  id: id.nullish(),
  customer: reference,
  status: storable.max(MAX_ID_LENGTH),
  items: z.object({ data: z.tuple([item]).rest(z.unknown()).or(z.tuple([])).nullish() }).nullish(),
  plan: z.object({ name }).nullish().catch(null),
});

/** An event that carries a subscription. What it does not name it may leave out. */
export const subscriptionEventShape = z.object({
  id: id.nullish(),
  created: z.int().min(0).max(MAX_CREATED_SECONDS).nullish(),
  data: z.object({ object: subscription }),
});

/**
 * The product of the first item. Before 2018 it had no id, and the name stood in `plan.name`;
 * before there were items, in the `plan` of the subscription itself.
 */
export function productOf({ items, plan }: z.infer<typeof subscription>): {
  id: string | null;
  name: string | null;
} {
  const first = items?.data?.[0];
  const found = first?.plan?.product ?? first?.price?.product ?? null;
  const planName = first === undefined ? plan?.name : first.plan?.name;
  return { id: found?.id ?? null, name: found?.name ?? planName ?? null };
}
