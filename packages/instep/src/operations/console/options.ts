import type { ReconcileServices } from '../../maintenance/reconcile/options.ts';
import type { Exposition } from '../../metrics/series.ts';
import type { Background } from '../../runtime/background.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { Mode } from '../../stripe/key-kind.ts';

export type ConsoleOptions = ReconcileServices & {
  /** The API without a rate limit. */
  readonly api: StripeApi;
  /** The mode of STRIPE_SECRET_KEY; `null` when its prefix does not show it. */
  readonly keyMode: Mode | null;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** The token that operators log in with; `null`: everyone on this machine has access. */
  readonly token: string | null;
  /** For work that outlives its request. */
  readonly background: Background;
  /** The metrics that `GET /metrics` returns. */
  readonly metrics: Exposition;
};
