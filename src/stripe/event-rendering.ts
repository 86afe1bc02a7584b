import * as v from 'valibot';

const shape = v.object({ type: v.string(), api_version: v.nullish(v.string()) });

/** The type of an event and the API version that it is rendered in. */
export type EventRendering = { readonly type: string | null; readonly apiVersion: string | null };

/** Reads how a signed event is rendered. The body must be JSON. */
export function renderingOf(body: Uint8Array): EventRendering {
  const { success, output } = v.safeParse(shape, JSON.parse(new TextDecoder().decode(body)));
  if (!success) return { type: null, apiVersion: null };
  return { type: output.type, apiVersion: output.api_version ?? null };
}
