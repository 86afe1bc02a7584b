/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export type JsonObject = { readonly [name: string]: Json };

/** `Array.isArray` for read-only lists. */
export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The value if it is an object; otherwise `null`. */
export function asObject(value: Json | undefined): JsonObject | null {
  return typeof value === 'object' && !isList(value) ? value : null;
}
