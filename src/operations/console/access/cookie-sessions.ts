import type { Context } from 'hono';
import { deleteCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import { deriveKey } from './derive-key.ts';

export type CookieSessionsOptions = {
  readonly cookie: string;
  /** `Strict`: other sites' links do not carry it either. */
  readonly sameSite: 'Strict' | 'Lax';
  /** What they are signed with. */
  readonly secret: string;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
};

/** Sessions that the browser alone keeps: an id, and until when it counts, signed. */
export type CookieSessions = {
  /** The session's id; `null` without one, and with one that is over or not of our making. */
  find(context: Context): Promise<string | null>;
  /** Begins a new one, in the answer's cookie. Returns its id. */
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

/**
 * Whether the browser speaks TLS, with a proxy before us: either of them tells. Whoever lies gets a
 * cookie that their own browser keeps to itself.
 */
function isSecure({ req }: Context): boolean {
  const isTold = req.header('X-Forwarded-Proto') === 'https';
  return isTold || req.header('Origin')?.startsWith('https://') === true;
}
