import { hkdfSync } from 'node:crypto';
import type { Context } from 'hono';
import { deleteCookie, getCookie, getSignedCookie, setSignedCookie } from 'hono/cookie';
import type { NamedToken, OperateContext } from 'instep-operate';

type CookieSessionsOptions = Pick<OperateContext, 'now' | 'nonce'> & {
  /** Their secrets sign their cookies. Without its token, a session has ended. */
  readonly tokens: readonly NamedToken[];
};

/** Sessions that only the browser stores: the name of a token, an id and an expiry, signed. */
export type CookieSessions = {
  /** The token of a session; `null` without a valid session. */
  find(context: Context): Promise<NamedToken | null>;
  /** Starts a new session. @throws RangeError without a token of this name */
  begin(context: Context, name: string): Promise<void>;
  end(context: Context): void;
};

const COOKIE = 'instep_operator';

const LIFETIME_MS = 12 * 60 * 60 * 1_000;

export function createCookieSessions(options: CookieSessionsOptions): CookieSessions {
  const { tokens, now, nonce } = options;
  const known = new Map(
    tokens.map((token) => [token.name, { token, key: deriveKey(token.token) }]),
  );
  return {
    async find(context) {
      const [name = ''] = getCookie(context, COOKIE)?.split('.') ?? [];
      const holder = known.get(name);
      if (holder === undefined) return null;
      const value = await getSignedCookie(context, holder.key, COOKIE);
      const [, endsAtMs] = /^[\w-]+\.[\w-]{1,64}\.(\d{1,15})$/.exec(value || '') ?? [];
      return Number(endsAtMs) > now() ? holder.token : null;
    },
    async begin(context, name) {
      const holder = known.get(name);
      if (holder === undefined) throw new RangeError('no token of this name');
      const value = `${name}.${nonce()}.${now() + LIFETIME_MS}`;
      await setSignedCookie(context, COOKIE, value, holder.key, {
        httpOnly: true,
        // Sent with links from other sites, such as those of an alert, but not with their forms.
        sameSite: 'Lax',
        secure: isSecure(context),
        maxAge: LIFETIME_MS / 1_000,
      });
    },
    end(context) {
      deleteCookie(context, COOKIE);
    },
  };
}

/** A key for this purpose only, so that a signature made for another one is worthless here. */
function deriveKey(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hkdfSync('sha256', secret, '', `instep operations ${COOKIE}`, 32));
}

/**
 * Whether the browser uses TLS, as the proxy or the browser reports. A false report affects only the
 * cookie of the browser that sends it.
 */
function isSecure({ req }: Context): boolean {
  const isForwarded = req.header('X-Forwarded-Proto') === 'https';
  return isForwarded || req.header('Origin')?.startsWith('https://') === true;
}
