import * as v from 'valibot';

const shape = v.object({ type: v.string(), api_version: v.nullish(v.string()) });

/** An event's type, and the API version of its structure; each endpoint has its own version. */
export type TypeAndVersion = { readonly type: string | null; readonly apiVersion: string | null };

/** Reads the type and API version of a signed event. The body must be JSON. */
export function typeAndVersionOf(body: Uint8Array): TypeAndVersion {
  const { success, output } = v.safeParse(shape, JSON.parse(new TextDecoder().decode(body)));
  if (!success) return { type: null, apiVersion: null };
  return { type: output.type, apiVersion: output.api_version ?? null };
}
