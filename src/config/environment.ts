import * as v from 'valibot';
import { InstepError } from '../runtime/errors.ts';

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

/** A shape that names its variables. */
type Variables = v.GenericSchema & { readonly entries: v.ObjectEntries };

/**
 * Reads the variables that the schema names. An empty one counts as unset, but for the secrets.
 *
 * @throws ConfigInvalid with all problems at once
 */
export function readVariables<Schema extends Variables>(
  schema: Schema,
  environment: Environment,
): v.InferOutput<Schema> {
  const given = Object.keys(schema.entries).map((name) => {
    const value = environment[name];
    return [name, value === '' && !SECRET.test(name) ? undefined : value];
  });
  const parsed = v.safeParse(schema, Object.fromEntries(given));
  if (parsed.success) return parsed.output;
  const first = new Map<string, string>();
  for (const { path, message } of parsed.issues) {
    const name = String(path?.[0].key);
    if (!first.has(name)) first.set(name, `${name} ${message}`);
  }
  throw new ConfigInvalid([...first.values()]);
}
