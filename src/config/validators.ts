import * as v from 'valibot';
import { parseDuration } from '../runtime/duration.ts';

const PLACEHOLDER = /\.\.\.|…|\*{3}|^<.*>$|^(?:change_?me|your[-_ ].*|x{3,})$/i;

/** One secret. The problem says what to do, and never what was given. */
export function secret(form: RegExp, whatToDo: string) {
  return v.pipe(
    v.string(`is missing: ${whatToDo}`),
    v.trim(),
    v.minLength(1, `is empty: ${whatToDo}`),
    v.check((text) => !PLACEHOLDER.test(text), `is a placeholder: ${whatToDo}`),
    v.regex(form, `is malformed: ${whatToDo}`),
  );
}

/** Several secrets of one kind, separated by commas, while one is being replaced. */
export function secrets(form: RegExp, whatToDo: string) {
  const one = secret(form, whatToDo);
  return v.pipe(
    v.string(`is missing: ${whatToDo}`),
    v.transform((text) => text.split(',')),
    v.tupleWithRest([one], one),
  );
}

/** A whole number within a range. */
export function wholeNumber(fallback: number, min: number, max: number) {
  const range = `must be a whole number from ${min} to ${max}`;
  const number = v.pipe(
    v.string(),
    v.transform(Number),
    v.integer(range),
    v.minValue(min, range),
    v.maxValue(max, range),
  );
  return v.optional(number, String(fallback));
}

const LONGEST_INTERVAL_MS = 30 * 86_400_000;

/** How often something is done, in milliseconds; `null` when it never is. */
export function interval(fallback: string) {
  const text = v.pipe(
    v.string(),
    v.transform((text) => (text === 'off' ? null : (parseDuration(text) ?? 0))),
    v.check(
      (intervalMs) => intervalMs === null || (intervalMs > 0 && intervalMs <= LONGEST_INTERVAL_MS),
      'must be off, or such as 90s, 15m, 1h; 30d at most',
    ),
  );
  return v.optional(text, fallback);
}

/** An absolute URL of one of these protocols, such as `https:`. */
export function url(protocols: readonly string[], example: string) {
  const whatToDo = `must be a URL such as ${example}`;
  return v.pipe(
    v.string(),
    v.check((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), whatToDo),
    v.transform((text) => new URL(text)),
  );
}
