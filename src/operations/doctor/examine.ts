import type { Environment } from '../../config/config.ts';
import { keyKindOf } from '../../stripe/key-kind.ts';
import { createInspection } from '../../stripe/resource-access.ts';
import { type Check, warning } from './check.ts';
import { checkConfiguration } from './configuration.ts';
import { checkDatabase } from './database.ts';
import { readSettings } from './settings.ts';
import { checkStripeAccount } from './stripe-account.ts';

export type ExamineOptions = {
  readonly environment: Environment;
  /** Where Stripe is to send events; `null` when nobody said. */
  readonly url: URL | null;
  /** Tells a person what they should know, such as where the files are. */
  readonly notice: (message: string) => void;
  /** In milliseconds since 1970. */
  readonly now: () => number;
};

const CONFIGURE_FIRST = 'set the configuration right first';

/**
 * Looks at all that Instep needs, and changes nothing. What is wrong with one thing is no reason not
 * to look at the others; every wait has an end.
 */
export async function* examine(options: ExamineOptions): AsyncGenerator<Check> {
  const { environment, url, notice, now } = options;
  const settings = readSettings(environment);
  yield* checkConfiguration(settings);

  const keyMode = settings.api === null ? null : keyKindOf(settings.api.secretKey).mode;
  let newestEventSeconds: number | null = null;
  if (settings.api === null) yield warning("Stripe's API", 'not asked', CONFIGURE_FIRST);
  else {
    const inspect = createInspection(settings.api);
    const expected = { url, mode: keyMode };
    const account = await checkStripeAccount({ inspect, expected, now });
    yield* account.checks;
    newestEventSeconds = account.newestEventSeconds;
  }

  if (settings.database === null) yield warning('database', 'not looked at', CONFIGURE_FIRST);
  else {
    const log = { keyMode, newestEventSeconds };
    yield* checkDatabase({ config: settings.database, notice, now, log });
  }
}
