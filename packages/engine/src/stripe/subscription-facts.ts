// The team that the metadata of an object at Stripe names.

import { asObject, type JsonObject } from '../rule/json.ts';
import { isId } from './parse-event.ts';

/** The key of metadata that names a team, where no other is set. */
export const TEAM_KEY = 'teamId';

/**
 * What the metadata of an object at Stripe has under a key, if it can be the id of a team; `null` otherwise. The
 * database decides whether it is one.
 */
export function teamNamedIn(object: JsonObject, key: string): string | null {
  const named = asObject(object.metadata)?.[key];
  return isId(named) ? named : null;
}
