import {
  ConfigInvalid,
  type DatabaseConfig,
  type Environment,
  readApiConfig,
  readAuthSecrets,
  readConfig,
  readDatabaseConfig,
  readOperationsConfig,
  readWebhookSecrets,
} from '../../config/config.ts';

/** The configuration, as far as it is right: `null` stands for what is not. */
export type Settings = {
  /** All that is wrong, each with what to do. */
  readonly problems: readonly string[];
  readonly database: DatabaseConfig | null;
  readonly api: ReturnType<typeof readApiConfig> | null;
  readonly authSecrets: ReturnType<typeof readAuthSecrets> | null;
  readonly webhookSecrets: readonly string[] | null;
  /** `null` also when it is off. */
  readonly operations: ReturnType<typeof readOperationsConfig>;
};

/** Reads each part by itself, so that what is wrong with one is no reason not to look at another. */
export function readSettings(environment: Environment): Settings {
  const problems: string[] = [];
  const attempt = <Part>(read: (environment: Environment) => Part): Part | null => {
    try {
      return read(environment);
    } catch (error) {
      if (!(error instanceof ConfigInvalid)) throw error;
      problems.push(...error.problems);
      return null;
    }
  };
  attempt(readConfig);
  const parts = {
    database: attempt(readDatabaseConfig),
    api: attempt(readApiConfig),
    authSecrets: attempt(readAuthSecrets),
    webhookSecrets: attempt(readWebhookSecrets),
    operations: attempt(readOperationsConfig),
  };
  return { ...parts, problems: [...new Set(problems)] };
}
