import { configWarnings } from '../../config/config.ts';
import { keyKindOf } from '../../stripe/key-kind.ts';
import { type Check, failure, ok, warning } from './check.ts';
import type { Settings } from './settings.ts';

const WHERE = 'set it right in the environment, or in .env of the folder where the server starts';

/** What the environment says, and what kind of secrets it holds: never the secrets. */
export function checkConfiguration(settings: Settings): Check[] {
  const { problems, api, authSecrets, webhookSecrets, operations } = settings;
  return [
    ...(problems.length === 0 ? [ok('configuration', 'complete')] : problems.map(problemOf)),
    ...(api === null ? [] : [checkKey(api)]),
    ...(webhookSecrets === null ? [] : [checkWebhookSecrets(webhookSecrets)]),
    ...(authSecrets === null ? [] : checkAuthSecrets(authSecrets)),
    ...(operations === null ? [] : [checkOperations(operations)]),
  ];
}

/** A problem that says what to do says it after a colon. */
function problemOf(problem: string): Check {
  const [, says = problem, whatToDo = WHERE] =
    /^(\w+ is (?:missing|empty|malformed|a placeholder|no loopback address.*)): (.*)$/.exec(
      problem,
    ) ?? [];
  return failure('configuration', says, whatToDo);
}

function checkKey({ secretKey, baseUrl }: NonNullable<Settings['api']>): Check {
  const { isRestricted, mode } = keyKindOf(secretKey);
  const kind = isRestricted ? 'a restricted key' : 'a secret key';
  const elsewhere = baseUrl === undefined ? '' : `, for ${baseUrl.host} (STRIPE_API_BASE)`;
  if (mode !== null) return ok('API key', `${kind} of ${mode} mode${elsewhere}`);
  return warning(
    'API key',
    `${kind} that does not say whether it is of test or live mode${elsewhere}`,
    'look whether all of it was copied: keys begin with sk_test_, sk_live_, rk_test_ or rk_live_',
  );
}

function checkWebhookSecrets({ length }: readonly string[]): Check {
  if (length === 1) return ok('signing secret', 'one');
  return ok('signing secret', `${length}: leave out the old one when it has been replaced`);
}

function checkAuthSecrets(authSecrets: NonNullable<Settings['authSecrets']>): Check[] {
  const warnings = configWarnings({ authSecrets });
  if (warnings.length === 0) {
    const count = authSecrets.length === 1 ? 'one' : `${authSecrets.length}`;
    return [ok('session secret', `${count}, of 32 bytes or more`)];
  }
  const whatToDo = 'replace it by the output of `openssl rand -base64 32`, in your app as well';
  return warnings.map((says) => warning('session secret', says, whatToDo));
}

function checkOperations({ host, port, token }: NonNullable<Settings['operations']>): Check {
  const whom = token === null ? 'whoever is on this machine' : 'whoever knows OPS_TOKEN';
  return ok('operators', `at ${host}:${port}, for ${whom}`);
}
