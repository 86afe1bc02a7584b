import * as v from 'valibot';
import { InstepError } from '../runtime/errors.ts';

/** Environment variables are missing or invalid. `problems` lists all of them, each with its remedy. */
export class ConfigInvalid extends InstepError {
  readonly code = 'CONFIG_INVALID';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the configuration is invalid:\n  - ${problems.join('\n  - ')}`);
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty secret is an error; any other empty variable counts as unset. */
const SECRET = /SECRET|TOKEN/;

/** A schema that names its variables. */
type Variables = v.GenericSchema & { readonly entries: v.ObjectEntries };

/** @throws ConfigInvalid with all problems at once, one for each variable */
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
