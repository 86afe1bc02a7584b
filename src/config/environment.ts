import type { z } from 'zod';
import { InstepError } from '../errors.ts';

/** The environment is not what it must be. `problems` lists all of it, each with what to do. */
export class ConfigInvalid extends InstepError {
  readonly code = 'CONFIG_INVALID';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration has problems:\n  - ${problems.join('\n  - ')}`);
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Secrets that are set to nothing were meant to be something. */
const SECRET = /SECRET|TOKEN/;

/**
 * Reads the variables that the schema names. An empty one counts as unset, but for the secrets.
 *
 * @throws ConfigInvalid with all problems at once
 */
export function readVariables<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
): z.output<Schema> {
  const given = Object.entries(environment).filter(
    ([name, value]) => value !== '' || SECRET.test(name),
  );
  const parsed = schema.safeParse(Object.fromEntries(given));
  if (parsed.success) return parsed.data;
  const first = new Map<string, string>();
  for (const { path, message } of parsed.error.issues) {
    const name = String(path[0]);
    if (!first.has(name)) first.set(name, `${name} ${message}`);
  }
  throw new ConfigInvalid([...first.values()]);
}
