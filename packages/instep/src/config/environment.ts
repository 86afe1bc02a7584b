// Parsers of environment variables, and how what is wrong with them is said. The other modules of config/ use them.

import { InstepError, parseDuration } from 'instep-engine/runtime';
import * as v from 'valibot';

/** What is wrong with an environment variable or an option, and what to do about it. */
export type ConfigProblem = {
  readonly variable: string;
  readonly problem: string;
  /** `null` if the problem says it. */
  readonly remedy: string | null;
};

/** `AUTH_SECRET is missing: set …` */
export function problemText({ variable, problem, remedy }: ConfigProblem): string {
  return `${variable} ${problem}${remedy === null ? '' : `: ${remedy}`}`;
}

/** Environment variables are missing or invalid. `problems` lists all of them, each with its remedy. */
export class ConfigInvalid extends InstepError {
  readonly code = 'CONFIG_INVALID';
  readonly problems: readonly ConfigProblem[];

  constructor(problems: readonly ConfigProblem[]) {
    super(`the configuration is invalid:\n  - ${problems.map(problemText).join('\n  - ')}`);
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Between the two parts of a message: an issue of valibot carries nothing else. No variable of a process has it. */
const SEPARATOR = '\0';

/** A message for valibot, of which `ConfigInvalid` knows the parts. */
export const withRemedy = (problem: string, remedy: string) => problem + SEPARATOR + remedy;

/** An empty secret is an error; any other empty variable counts as unset. */
const SECRET = /SECRET|TOKEN/;

const setIn = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== '' || SECRET.test(name)),
  );

/** Parses variables. @throws ConfigInvalid with all problems at once, one for each variable */
export function readVariables<Schema extends v.GenericSchema>(
  schema: Schema,
  values: Readonly<Record<string, unknown>>,
): v.InferOutput<Schema> {
  return parse(schema, setIn(values), 0);
}

/** The same for several parts of a configuration, each with variables of its own. */
export function readParts<Parts extends v.ObjectEntries>(parts: Parts, values: Environment) {
  const set = setIn(values);
  const input = Object.fromEntries(Object.keys(parts).map((part) => [part, set]));
  return parse(v.object(parts), input, 1);
}

/** @param depth where the path of an issue has the name of the variable */
function parse<Schema extends v.GenericSchema>(
  schema: Schema,
  input: object,
  depth: number,
): v.InferOutput<Schema> {
  const parsed = v.safeParse(schema, input);
  if (parsed.success) return parsed.output;
  const first = new Map<string, ConfigProblem>();
  for (const { path = [], message } of parsed.issues) {
    const [variable = '', ...members] = path.slice(depth).map(({ key }) => String(key));
    const [text = '', remedy = null] = message.split(SEPARATOR);
    const isOfMember = path[depth + 1]?.type === 'object';
    const problem = isOfMember ? `has ${members.join('.')}, which ${text}` : text;
    if (!first.has(variable)) first.set(variable, { variable, problem, remedy });
  }
  throw new ConfigInvalid([...first.values()]);
}

/** A part of a configuration, which follows from these variables. */
export const part = <Variables extends v.ObjectEntries, Value>(
  variables: Variables,
  become: (values: v.InferOutput<v.ObjectSchema<Variables, undefined>>) => Value,
) => v.pipe(allOf(variables), v.object(variables), v.transform(become));

/** The variables, also those that are not set: a parser says what it lacks only for a member that is there. */
const allOf = (variables: v.ObjectEntries) =>
  v.pipe(
    v.record(v.string(), v.unknown()),
    v.transform(
      (values): Record<string, unknown> =>
        Object.fromEntries(Object.keys(variables).map((name) => [name, values[name]])),
    ),
  );

const PLACEHOLDER = /\.\.\.|…|\*{3}|^<.*>$|^(?:change_?me|your[-_ ].*|x{3,})$/i;

/** A text that must be there, and not one that stands in its place in a guide. */
export const given = (remedy: string) =>
  v.pipe(
    v.string(withRemedy('is missing', remedy)),
    v.check((text) => text.trim() !== '', withRemedy('is empty', remedy)),
    v.check((text) => !PLACEHOLDER.test(text.trim()), withRemedy('is a placeholder', remedy)),
  );

/** A secret. Its error message never quotes the value. */
export const secret = (form: RegExp, remedy: string) =>
  v.pipe(given(remedy), v.trim(), v.regex(form, withRemedy('is malformed', remedy)));

/** Secrets separated by commas: several while one is being replaced. */
export function secrets(form: RegExp, remedy: string) {
  const one = secret(form, remedy);
  return v.pipe(
    v.string(withRemedy('is missing', remedy)),
    v.transform((text) => text.split(',')),
    v.tupleWithRest([one], one),
  );
}

export function wholeNumber(fallback: number, min: number, max: number) {
  const number = v.pipe(
    v.string(),
    v.transform(Number),
    v.check(
      (value) => Number.isInteger(value) && value >= min && value <= max,
      `must be a whole number from ${min} to ${max}`,
    ),
  );
  return v.optional(number, String(fallback));
}

/** A duration in milliseconds; `null` for off. */
export function durationOrOff(
  fallback: string,
  form: string,
  { minMs = 1, maxMs = Number.POSITIVE_INFINITY, off = ['off'] } = {},
) {
  const text = v.pipe(
    v.string(),
    v.transform((text) => (off.includes(text) ? null : (parseDuration(text) ?? -1))),
    v.check((ms) => ms === null || (ms >= minMs && ms <= maxMs), `must be off, or ${form}`),
  );
  return v.optional(text, fallback);
}

/** An absolute URL, which a message never quotes: it is often a secret. */
export function url(isAllowed: (url: URL) => boolean, problem: string) {
  return v.pipe(
    v.string(),
    v.check((text) => URL.canParse(text) && isAllowed(new URL(text)), problem),
    v.transform((text) => new URL(text)),
  );
}

/** One of these words. The first one is the default. */
export function oneOf<const Words extends readonly [string, string, ...string[]]>(
  ...words: Words
): v.OptionalSchema<v.PicklistSchema<Words, string>, Words[0]> {
  const problem = `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return v.optional(v.picklist(words, problem), words[0]);
}
