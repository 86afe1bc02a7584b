import * as v from 'valibot';
import type { Mode } from './key-kind.ts';

const shape = v.object({ livemode: v.boolean() });

/** Whether a logged event is of test or of live mode; `null` when it does not say. */
export function eventModeOf(body: Uint8Array): Mode | null {
  // What is in the log was JSON when it came.
  const parsed = v.safeParse(shape, JSON.parse(new TextDecoder().decode(body)));
  if (!parsed.success) return null;
  return parsed.output.livemode ? 'live' : 'test';
}
