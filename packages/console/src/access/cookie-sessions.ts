import { hkdfSync } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';

type CookieSessionsOptions = {
  readonly cookie: string;
  /** By the name of the holder: what signs the holder's cookies. Without it, a session has ended. */
  readonly secrets: ReadonlyMap<string, string>;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
};

/** Sessions that only the browser stores: the holder's name, an id and an expiry, signed. */
export type CookieSessions = {
  /** The holder's name; `null` without a valid session. */
  find(context: Context): Promise<string | null>;
  /** Starts a new session. @throws RangeError without a secret for this name */
  begin(context: Context, name: string): Promise<void>;
  end(context: Context): void;
};

const LIFETIME_MS = 12 * 60 * 60 * 1_000;

export function createCookieSessions(options: CookieSessionsOptions): CookieSessions {
  const { cookie, secrets, now, nonce } = options;
  const keys = new Map([...secrets].map(([name, secret]) => [name, deriveKey(secret, cookie)]));
  return {
    async find(context) {
      const [name = ''] = getCookie(context, cookie)?.split('.') ?? [];
      const key = keys.get(name);
      if (key === undefined) return null;
      const value = await getSignedCookie(context, key, cookie);
      const [, endsAtMs] = /^[\w-]+\.[\w-]{1,64}\.(\d{1,15})$/.exec(value || '') ?? [];
      return Number(endsAtMs) > now() ? name : null;
    },
    async begin(context, name) {
      const key = keys.get(name);
      if (key === undefined) throw new RangeError('no secret for this name');
      const value = `${name}.${nonce()}.${now() + LIFETIME_MS}`;
      await setSignedCookie(context, cookie, value, key, {
        httpOnly: true,
        // Sent with links from other sites, such as those of an alert, but not with their forms.
        sameSite: 'Lax',
        secure: isSecure(context),
        maxAge: LIFETIME_MS / 1_000,
      });
    },
    end(context) {
      deleteCookie(context, cookie);
    },
  };
}

/** A key for each purpose, so that a signature made for one is worthless for another. */
function deriveKey(secret: string, purpose: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hkdfSync('sha256', secret, '', `instep operations ${purpose}`, 32));
}

/**
 * Whether the browser uses TLS, as the proxy or the browser reports. A false report affects only the
 * cookie of the browser that sends it.
 */
function isSecure({ req }: Context): boolean {
  const isForwarded = req.header('X-Forwarded-Proto') === 'https';
  return isForwarded || req.header('Origin')?.startsWith('https://') === true;
}
