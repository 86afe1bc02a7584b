export type Mode = 'test' | 'live';

type KeyKind = {
  /** A restricted key has only the permissions that were ticked for it. */
  readonly isRestricted: boolean;
  /** `null` when the key's prefix does not show it. */
  readonly mode: Mode | null;
};

/** The kind of an API key by its prefix: `sk_test_…`, `rk_live_…`. */
export function keyKindOf(secretKey: string): KeyKind {
  const [, mode] = /^[a-z]+_(?:org_)?(test|live)_/.exec(secretKey) ?? [];
  return {
    isRestricted: secretKey.startsWith('rk_'),
    mode: mode === 'test' || mode === 'live' ? mode : null,
  };
}
