import { isObject, isSameJson, type Json, type JsonObject } from './json.ts';

/**
 * What an event names as the values that it replaced: of an object only the members that changed,
 * lists as a whole, and null for what was not there.
 */
export function previousAttributes(before: JsonObject, after: JsonObject): JsonObject {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const replaced: Record<string, Json> = {};
  for (const name of names) {
    const [old, now] = [before[name], after[name]];
    if (isSameJson(old, now)) continue;
    replaced[name] = isObject(old) && isObject(now) ? previousAttributes(old, now) : (old ?? null);
  }
  return replaced;
}
