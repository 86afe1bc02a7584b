/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export type JsonObject = { readonly [name: string]: Json };

/** `Array.isArray` for read-only lists. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** `Number.isInteger`, as a type guard. */
export function isInteger(value: Json | undefined): value is number {
  return Number.isInteger(value);
}

/** An object's own member; `undefined` for any other value, or when it has none. */
export function member(value: Json | undefined, name: string): Json | undefined {
  const object = asObject(value) ?? {};
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The value if it is an object; otherwise `null`. */
export function asObject(value: Json | undefined): JsonObject | null {
  return typeof value === 'object' && !isList(value) ? value : null;
}
