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

/** The parts of each message that has a remedy: an issue of valibot carries nothing but its message. */
const remedied = new Map<string, Pick<ConfigProblem, 'problem' | 'remedy'>>();

/** A message for valibot, of which `ConfigInvalid` knows the parts. */
export function withRemedy(problem: string, remedy: string): string {
  const message = `${problem}: ${remedy}`;
  remedied.set(message, { problem, remedy });
  return message;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty secret is an error; any other empty variable counts as unset. */
const SECRET = /SECRET|TOKEN/;

/** What these variables have been parsed into. */
export type Values<Variables extends v.ObjectEntries> = v.InferOutput<
  v.ObjectSchema<Variables, undefined>
>;

/** @throws ConfigInvalid with all problems at once, one for each variable */
export function readVariables<Variables extends v.ObjectEntries>(
  variables: Variables,
  values: Readonly<Record<string, unknown>>,
): Values<Variables> {
  const given = Object.keys(variables).map((name) => {
    const value = values[name];
    return [name, value === '' && !SECRET.test(name) ? undefined : value];
  });
  const parsed = v.safeParse(v.object(variables), Object.fromEntries(given));
  if (parsed.success) return parsed.output;
  const first = new Map<string, ConfigProblem>();
  for (const { path = [], message } of parsed.issues) {
    const [variable = '', ...members] = path.map(({ key }) => String(key));
    const text =
      path[1]?.type === 'object' ? `has ${members.join('.')}, which ${message}` : message;
    const { problem, remedy } = remedied.get(message) ?? { problem: text, remedy: null };
    if (!first.has(variable)) first.set(variable, { variable, problem, remedy });
  }
  throw new ConfigInvalid([...first.values()]);
}

const PLACEHOLDER = /\.\.\.|…|\*{3}|^<.*>$|^(?:change_?me|your[-_ ].*|x{3,})$/i;

/** Whether a text stands where a secret should be, as in a guide. */
export const isPlaceholder = (text: string) => PLACEHOLDER.test(text.trim());

/** A secret. Its error message never quotes the value. */
export function secret(form: RegExp, advice: string) {
  return v.pipe(
    v.string(withRemedy('is missing', advice)),
    v.trim(),
    v.minLength(1, withRemedy('is empty', advice)),
    v.check((text) => !isPlaceholder(text), withRemedy('is a placeholder', advice)),
    v.regex(form, withRemedy('is malformed', advice)),
  );
}

/** Secrets separated by commas: several while one is being replaced. */
export function secrets(form: RegExp, advice: string) {
  const one = secret(form, advice);
  return v.pipe(
    v.string(withRemedy('is missing', advice)),
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
