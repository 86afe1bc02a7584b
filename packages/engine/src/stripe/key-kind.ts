// Whether keys and events belong to test or live mode, and to which account: for the webhook, the doctor and the health.

import { asObject, type Json } from '../rule/json.ts';

export type Mode = 'test' | 'live';

/** The kind of an API key by its prefix: `sk_test_…`, `rk_live_…`. The mode is `null` if it does not show. */
export function keyKindOf(secretKey: string): { isRestricted: boolean; mode: Mode | null } {
  const [, mode] = /^[a-z]+_(?:org_)?(test|live)_/.exec(secretKey) ?? [];
  return {
    isRestricted: secretKey.startsWith('rk_'),
    mode: mode === 'test' || mode === 'live' ? mode : null,
  };
}

/** The mode and account of an event; `null` for what the event does not state. */
export type EventOrigin = {
  readonly mode: Mode | null;
  /** Another account than the one of the endpoint (Stripe Connect, organizations). */
  readonly account: string | null;
};

/** Reads the origin of an event or of its notification. */
export function originOf(event: Json): EventOrigin {
  const { livemode, account, context } = asObject(event) ?? {};
  return {
    mode: typeof livemode === 'boolean' ? (livemode ? 'live' : 'test') : null,
    account: accountIn(account) ?? accountIn(context),
  };
}

/** The origin of a logged event. Only JSON is logged, but something other than Instep can have changed it since. */
export function originOfBody(body: Uint8Array): EventOrigin {
  try {
    return originOf(JSON.parse(new TextDecoder().decode(body)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return originOf(null);
  }
}

/**
 * The way in which an event does not match a key of this mode; `null` when it does, or when that is unknown. The event
 * is still applied, because its signature is valid.
 */
export function mismatchOf(
  { mode, account }: EventOrigin,
  keyMode: Mode | null,
): 'mode' | 'account' | null {
  if (account !== null) return 'account';
  return mode === null || keyMode === null || mode === keyMode ? null : 'mode';
}

/** An account's id, or a path of several ids. It is sent as the value of a header. */
function accountIn(value: Json | undefined): string | null {
  return typeof value === 'string' && /^[\w/]{1,255}$/.test(value) ? value : null;
}
