import { isObject, type Json, type JsonObject } from './json.ts';

/**
 * The values that a change replaced, as Stripe names them: of an object only the members that changed,
 * lists as a whole, and null for what was absent.
 */
export function previousAttributes(before: JsonObject, after: JsonObject): JsonObject {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const replaced: Record<string, Json> = {};
  for (const name of names) {
    const [old, now] = [before[name], after[name]];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    replaced[name] = isObject(old) && isObject(now) ? previousAttributes(old, now) : (old ?? null);
  }
  return replaced;
}
