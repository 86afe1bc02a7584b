import { asObject, type JsonObject } from '../core/json.ts';

/** The key of metadata that names a team, where no other is set. */
export const TEAM_KEY = 'teamId';

/** Longer than any id. */
const MAX_ID_LENGTH = 255;

/**
 * What the metadata of an object at Stripe has under a key, if it can be the id of a team; `null` otherwise. The
 * database decides whether it is one.
 */
export function teamNamedIn(object: JsonObject, key: string): string | null {
  const named = asObject(object.metadata)?.[key];
  if (typeof named !== 'string' || named === '' || named.length > MAX_ID_LENGTH) return null;
  return named.includes('\0') || !named.isWellFormed() ? null : named;
}
