export type Mode = 'test' | 'live';

export type KeyKind = {
  /** A restricted key may do only what was ticked for it. */
  readonly isRestricted: boolean;
  /** `null` when the key does not say. */
  readonly mode: Mode | null;
};

/** What an API key says of itself: `sk_test_…`, `rk_live_…`. */
export function keyKindOf(secretKey: string): KeyKind {
  const [, mode] = /^[a-z]+_(?:org_)?(test|live)_/.exec(secretKey) ?? [];
  return {
    isRestricted: secretKey.startsWith('rk_'),
    mode: mode === 'test' || mode === 'live' ? mode : null,
  };
}
