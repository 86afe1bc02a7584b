import type { RequestListener } from 'node:http';
import type { ReconcileServices } from '../maintenance/reconcile/progress.ts';
import type { Background } from '../runtime/background.ts';
import { importOptional } from '../runtime/optional-package.ts';
import type { StripeApi } from '../stripe/api.ts';
import type { Mode } from '../stripe/key-kind.ts';

/** `too many` when so many wrong tokens wait for their answer that this one was not looked at. */
export type TokenVerdict = 'right' | 'wrong' | 'too many';

export type ConsoleOptions = ReconcileServices & {
  /** The API without a rate limit. */
  readonly api: StripeApi;
  /** The mode of STRIPE_SECRET_KEY; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
  /** The login: the secret that signs its cookies, and the check of a token. `null`: everyone has access. */
  readonly login: {
    readonly secret: string;
    readonly checkToken: (token: string) => Promise<TokenVerdict>;
  } | null;
  /** For work that outlives its request. */
  readonly background: Background;
};

type FetchHandler = (request: Request) => Promise<Response>;

/** What the package `instep-console` exports. */
export type ConsolePackage = {
  createConsole(options: ConsoleOptions): FetchHandler;
  /** Serves a handler with `node:http`. */
  toNodeListener(handler: FetchHandler): RequestListener;
};

/** The package `instep-console`; `null` when it is not installed. */
export async function importConsole(): Promise<ConsolePackage | null> {
  return await importOptional<ConsolePackage>('instep-console');
}
