/** Event keys from `low` to `high`, both included. */
export type KeyRange = { readonly low: string; readonly high: string };

/** The parts of an event's key; the hashes are SHA-256 in hex. */
type EventKeyParts = {
  readonly createdSeconds: number | null;
  readonly subscriptionHash: string;
  readonly contentHash: string;
};

/**
 * The key of an event in the log, as a UUID's text:
 *
 *     4 bytes `created` | 4 bytes of the subscription's hash | 8 bytes of the content's hash
 *
 * One index of 16 bytes per event serves three needs: it finds duplicates, it finds the events of one
 * tie group, and it grows at its end, since events arrive nearly in chronological order.
 */
export function formatEventKey(parts: EventKeyParts): string {
  // 0 is reserved for events without `created`; the years 1970 and 2106 must not produce it.
  const { createdSeconds } = parts;
  const time = createdSeconds === null ? 0 : Math.max(1, createdSeconds % 2 ** 32);
  const created = time.toString(16).padStart(8, '0');
  const { subscriptionHash: subscription, contentHash: content } = parts;
  return [
    created,
    subscription.slice(0, 4),
    subscription.slice(4, 8),
    content.slice(0, 4),
    content.slice(4, 16),
  ].join('-');
}

/** The lowest key with `created`. Keys below it belong to events without a time of their own. */
export const FIRST_DATED_KEY = '00000001-0000-0000-0000-000000000000';

/** Whether this is the key of an event with `created`. Only such events share a range of keys. */
export function isDatedKey(key: string): boolean {
  return key >= FIRST_DATED_KEY;
}

const PREFIX_LENGTH = 'cccccccc-ssss-ssss'.length;

/** The keys that events of the same tie group can have. */
export function tieGroupRangeOf(key: string): KeyRange {
  if (!isDatedKey(key)) return { low: key, high: key };
  const prefix = key.slice(0, PREFIX_LENGTH);
  return { low: `${prefix}-0000-000000000000`, high: `${prefix}-ffff-ffffffffffff` };
}

/** The ranges of keys in the tie groups of these keys, each once, so that they do not overlap. */
export function tieGroupRanges(keys: readonly string[]): KeyRange[] {
  const ranges = keys.map(tieGroupRangeOf);
  return [...new Map(ranges.map((range) => [range.low, range])).values()];
}
