import {
  ConfigInvalid,
  configWarnings,
  type Environment,
  readApiConfig,
  readAuthSecrets,
  readConfig,
  readDatabaseConfig,
  readOperationsConfig,
  readWebhookSecrets,
} from '../../config/config.ts';
import { counted } from '../../runtime/count-text.ts';
import { keyKindOf } from '../../stripe/key-kind.ts';
import { type Check, failure, ok, warning } from './check.ts';

/** The parts of the configuration; `null` for an invalid one, and for what is off. */
type Settings = ReturnType<typeof readSettings>;

/** Reads each part by itself, so that an error in one does not prevent the checks of the others. */
export function readSettings(environment: Environment) {
  const problems = new Set<string>();
  function attempt<Part>(read: (environment: Environment) => Part): Part | null {
    try {
      return read(environment);
    } catch (error) {
      if (!(error instanceof ConfigInvalid)) throw error;
      for (const problem of error.problems) problems.add(problem);
      return null;
    }
  }
  attempt(readConfig);
  return {
    database: attempt(readDatabaseConfig),
    api: attempt(readApiConfig),
    authSecrets: attempt(readAuthSecrets),
    webhookSecrets: attempt(readWebhookSecrets),
    operations: attempt(readOperationsConfig),
    problems: [...problems],
  };
}

/** Checks the configuration and the kind of the secrets. Shows none of them. */
export function checkConfiguration(settings: Settings): Check[] {
  const { problems, api, authSecrets, webhookSecrets, operations } = settings;
  return [
    ...(problems.length === 0
      ? [ok('configuration', 'complete')]
      : problems.map((problem) => failure('configuration', ...findingAndAdvice(problem)))),
    ...(api === null ? [] : [checkKey(api)]),
    ...(webhookSecrets === null
      ? []
      : [ok('signing secret', counted(webhookSecrets.length, 'secret'))]),
    ...(authSecrets === null ? [] : checkAuthSecrets(authSecrets)),
    ...(operations === null ? [] : [checkOperations(operations)]),
  ];
}

const WHERE = 'correct it in the environment, or in .env in the directory where the server starts';

/** Most problems end with a colon and what to do. */
function findingAndAdvice(problem: string): [finding: string, advice: string] {
  const [, finding = problem, advice = WHERE] =
    /^(\w+ (?:is|has) [^:]*): (.*)$/.exec(problem) ?? [];
  return [finding, advice];
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
  const warnings = configWarnings({ authSecrets });
  if (warnings.length > 0) {
    return warnings.map((text) => warning('session secret', ...findingAndAdvice(text)));
  }
  return [ok('session secret', `${counted(authSecrets.length, 'secret')} of 32 bytes or more`)];
}

function checkOperations({ host, port, token }: NonNullable<Settings['operations']>): Check {
  const access = token === null ? 'open to every user of this machine' : 'protected by OPS_TOKEN';
  return ok('operators', `at ${host}:${port}, ${access}`);
}
