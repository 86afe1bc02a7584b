import {
  ConfigInvalid,
  type ConfigProblem,
  type Environment,
  readAccessPolicy,
  readApiConfig,
  readAuthSecrets,
  readConfig,
  readDatabaseConfig,
  readLinkByMetadata,
  readOperationsConfig,
  readWebhookSecrets,
  weakSecrets,
} from '../config/config.ts';
import { problemText } from '../config/environment.ts';
import { counted } from '../runtime/amounts.ts';
import { keyKindOf } from '../stripe/key-kind.ts';
import { type Check, failure, ok, warning } from './check.ts';
import type { ClockReading } from './clock.ts';
import { checkDatabase } from './database.ts';
import { checkStripeApi } from './stripe-api.ts';

type ExamineOptions = {
  environment: Environment;
  /** The public URL of the webhook route; `null` when it was not given. */
  url: URL | null;
  notice: (message: string) => void;
  now: () => number;
};

const CONFIGURE_FIRST = 'correct the configuration first';

/** Checks everything that Instep needs, and changes nothing. Every wait has a deadline. */
export async function* examine(options: ExamineOptions): AsyncGenerator<Check> {
  const { environment, url, notice, now } = options;
  const settings = readSettings(environment);
  const { api, database, linkByMetadata } = settings;
  yield* checkConfiguration(settings);

  const keyMode = api === null ? null : keyKindOf(api.secretKey).mode;
  let newestEventSeconds: number | null = null;
  let stripeClock: ClockReading | null = null;
  if (api === null) yield warning("Stripe's API", 'not checked', CONFIGURE_FIRST);
  else {
    const stripe = await checkStripeApi({ api, expected: { url, mode: keyMode }, now });
    yield* stripe.checks;
    newestEventSeconds = stripe.newestEventSeconds;
    stripeClock = stripe.clock;
  }

  if (database === null) yield warning('database', 'not checked', CONFIGURE_FIRST);
  else
    yield* checkDatabase({
      config: database,
      use: { linksTeams: linkByMetadata !== null },
      accessPolicy: settings.accessPolicy,
      notice,
      now,
      stripeClock,
      log: { keyMode, linkByMetadata, newestEventSeconds },
    });
}

/** The parts of the configuration; `null` for an invalid one, and for what is off. */
type Settings = ReturnType<typeof readSettings>;

/** Reads each part by itself, so that an error in one does not prevent the checks of the others. */
function readSettings(environment: Environment) {
  const problems = new Map<string, ConfigProblem>();
  function attempt<Part>(read: (environment: Environment) => Part): Part | null {
    try {
      return read(environment);
    } catch (error) {
      if (!(error instanceof ConfigInvalid)) throw error;
      for (const problem of error.problems) problems.set(problemText(problem), problem);
      return null;
    }
  }
  attempt(readConfig);
  return {
    database: attempt(readDatabaseConfig),
    linkByMetadata: attempt(readLinkByMetadata),
    api: attempt(readApiConfig),
    authSecrets: attempt(readAuthSecrets),
    webhookSecrets: attempt(readWebhookSecrets),
    accessPolicy: attempt(readAccessPolicy),
    operations: attempt(readOperationsConfig),
    problems: [...problems.values()],
  };
}

/** Checks the configuration and the kind of the secrets. Shows none of them. */
function checkConfiguration(settings: Settings): Check[] {
  const { problems, api, authSecrets, webhookSecrets, operations } = settings;
  return [
    ...(problems.length === 0
      ? [ok('configuration', 'complete')]
      : problems.map((problem) => failure('configuration', ...resultAndAdvice(problem)))),
    ...(api === null ? [] : [checkKey(api)]),
    ...(webhookSecrets === null
      ? []
      : [ok('signing secret', counted(webhookSecrets.length, 'secret'))]),
    ...(authSecrets === null ? [] : checkAuthSecrets(authSecrets)),
    ...(operations === null ? [] : [checkOperations(operations)]),
  ];
}

const WHERE = 'correct it in the environment, or in .env in the directory where the server starts';

function resultAndAdvice({ variable, problem, remedy }: ConfigProblem): [string, string] {
  return [`${variable} ${problem}`, remedy ?? WHERE];
}

function checkKey({ secretKey, baseUrl }: NonNullable<Settings['api']>): Check {
  const { isRestricted, mode } = keyKindOf(secretKey);
  const kind = isRestricted ? 'a restricted key' : 'a secret key';
  const elsewhere = baseUrl === undefined ? '' : `, for ${baseUrl.host} (STRIPE_API_BASE)`;
  if (mode !== null) return ok('API key', `${kind} in ${mode} mode${elsewhere}`);
  return warning(
    'API key',
    `${kind} that names neither test nor live mode${elsewhere}: it may be incomplete`,
    'check that all of it was copied: keys begin with sk_test_, sk_live_, rk_test_ or rk_live_',
  );
}

function checkAuthSecrets(authSecrets: readonly string[]): Check[] {
  const warnings = weakSecrets(authSecrets);
  if (warnings.length > 0) {
    return warnings.map((problem) => warning('session secret', ...resultAndAdvice(problem)));
  }
  return [ok('session secret', `${counted(authSecrets.length, 'secret')} of 32 bytes or more`)];
}

function checkOperations({ host, port, tokens }: NonNullable<Settings['operations']>): Check {
  const count = tokens.length > 1 ? ` (${tokens.length} tokens)` : '';
  const access =
    tokens.length === 0 ? 'open to every user of this machine' : `protected by OPS_TOKEN${count}`;
  return ok('operators', `at ${host}:${port}, ${access}`);
}
