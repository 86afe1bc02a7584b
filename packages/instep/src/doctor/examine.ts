import type { Environment } from '../config/config.ts';
import { keyKindOf } from '../stripe/key-kind.ts';
import { createInspection } from '../stripe/resource-access.ts';
import { type Check, warning } from './check.ts';
import type { ClockReading } from './clock.ts';
import { checkConfiguration, readSettings } from './configuration.ts';
import { checkDatabase } from './database.ts';
import { checkStripeApi } from './stripe-api.ts';

type ExamineOptions = {
  readonly environment: Environment;
  /** The public URL of the webhook route; `null` when it was not given. */
  readonly url: URL | null;
  /** Shows a message to the user, such as the location of the files. */
  readonly notice: (message: string) => void;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

const CONFIGURE_FIRST = 'correct the configuration first';

/** Checks everything that Instep needs, and changes nothing. Every wait has a deadline. */
export async function* examine(options: ExamineOptions): AsyncGenerator<Check> {
  const { environment, url, notice, now } = options;
  const settings = readSettings(environment);
  const { api, database } = settings;
  yield* checkConfiguration(settings);

  const keyMode = api === null ? null : keyKindOf(api.secretKey).mode;
  let newestEventSeconds: number | null = null;
  let stripeClock: ClockReading | null = null;
  if (api === null) yield warning("Stripe's API", 'not checked', CONFIGURE_FIRST);
  else {
    const inspect = createInspection(api);
    const expected = { url, mode: keyMode };
    const stripe = await checkStripeApi({ inspect, expected, now });
    yield* stripe.checks;
    newestEventSeconds = stripe.newestEventSeconds;
    stripeClock = stripe.clock;
  }

  if (database === null) yield warning('database', 'not checked', CONFIGURE_FIRST);
  else
    yield* checkDatabase({
      config: database,
      notice,
      now,
      stripeClock,
      log: { keyMode, newestEventSeconds },
    });
}
