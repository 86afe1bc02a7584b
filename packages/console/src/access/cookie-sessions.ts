import { createHmac, hkdfSync } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';

type CookieSessionsOptions = {
  readonly cookie: string;
  readonly sameSite: 'Strict' | 'Lax';
  /** Signs the cookie. */
  readonly secret: string;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
};

/** Sessions that only the browser stores: a signed id and expiry. */
export type CookieSessions = {
  /** The session's id; `null` without a valid one. */
  find(context: Context): Promise<string | null>;
  /** Starts a new session. Returns its id. */
  begin(context: Context): Promise<string>;
  end(context: Context): void;
};

const LIFETIME_MS = 12 * 60 * 60 * 1_000;

export function createCookieSessions(options: CookieSessionsOptions): CookieSessions {
  const { cookie, sameSite, secret, now, nonce } = options;
  const key = deriveKey(secret, cookie);
  return {
    async find(context) {
      const value = await getSignedCookie(context, key, cookie);
      const [, id, endsAtMs] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(value || '') ?? [];
      return id !== undefined && Number(endsAtMs) > now() ? id : null;
    },
    async begin(context) {
      const id = nonce();
      await setSignedCookie(context, cookie, `${id}.${now() + LIFETIME_MS}`, key, {
        httpOnly: true,
        sameSite,
        secure: isSecure(context),
        maxAge: LIFETIME_MS / 1_000,
      });
      return id;
    },
    end(context) {
      deleteCookie(context, cookie);
    },
  };
}

/** A key for each purpose, so that a signature made for one is worthless for another. */
export function deriveKey(secret: string, purpose: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hkdfSync('sha256', secret, '', `instep operations ${purpose}`, 32));
}

export function sign(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url');
}

/**
 * Whether the browser uses TLS, as the proxy or the browser reports. A false report affects only the
 * cookie of the browser that sends it.
 */
function isSecure({ req }: Context): boolean {
  const isForwarded = req.header('X-Forwarded-Proto') === 'https';
  return isForwarded || req.header('Origin')?.startsWith('https://') === true;
}
