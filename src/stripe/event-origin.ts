import { isList, type Json } from '../core/json.ts';
import type { Mode } from './key-kind.ts';

/** Where an event happened. What it does not say is `null`. */
export type EventOrigin = {
  readonly mode: Mode | null;
  /** Another account than the one of the endpoint (Stripe Connect, organizations). */
  readonly account: string | null;
};

/** How an event does not fit the API key. It is applied all the same: the signature counts. */
export type Mismatch = 'mode' | 'account';

/** Reads the origin of an event or of its notification. */
export function originOf(event: Json): EventOrigin {
  if (typeof event !== 'object' || event === null || isList(event)) {
    return { mode: null, account: null };
  }
  const { livemode, account, context } = event;
  return {
    mode: typeof livemode === 'boolean' ? (livemode ? 'live' : 'test') : null,
    account: accountIn(account) ?? accountIn(context),
  };
}

/** The origin of a logged event. Only JSON is logged. */
export function originOfBody(body: Uint8Array): EventOrigin {
  return originOf(JSON.parse(new TextDecoder().decode(body)));
}

/** How an event does not fit a key of this mode; `null` when it does, or when that is unknown. */
export function mismatchOf({ mode, account }: EventOrigin, keyMode: Mode | null): Mismatch | null {
  if (account !== null) return 'account';
  return mode === null || keyMode === null || mode === keyMode ? null : 'mode';
}

/** An account's id, or a path of several. It becomes the value of a header. */
function accountIn(value: Json | undefined): string | null {
  return typeof value === 'string' && /^[\w/]{1,255}$/.test(value) ? value : null;
}
