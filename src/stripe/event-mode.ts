import * as v from 'valibot';
import type { Mode } from './key-kind.ts';

const shape = v.object({ livemode: v.boolean() });

/** The mode of a logged event; `null` when it has none. */
export function eventModeOf(body: Uint8Array): Mode | null {
  // Only JSON is logged.
  const parsed = v.safeParse(shape, JSON.parse(new TextDecoder().decode(body)));
  if (!parsed.success) return null;
  return parsed.output.livemode ? 'live' : 'test';
}
