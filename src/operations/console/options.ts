import type { ReconcileServices } from '../../maintenance/reconcile/options.ts';
import type { Background } from '../../runtime/background.ts';
import type { StripeApi } from '../../stripe/api.ts';
import type { Mode } from '../../stripe/key-kind.ts';
import type { Exposition } from '../metrics/exposition.ts';

export type ConsoleOptions = ReconcileServices & {
  /** Without a limit of its rate. */
  readonly api: StripeApi;
  /** The mode of STRIPE_SECRET_KEY; `null` when it does not show it. */
  readonly keyMode: Mode | null;
  /** In milliseconds, by a clock that is never set. */
  readonly clockMs: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
  /** What operators log in with; `null`: everyone on this machine has access. */
  readonly token: string | null;
  /** For work that outlives its request. */
  readonly background: Background;
  /** What `GET /metrics` returns. */
  readonly metrics: Exposition;
};
