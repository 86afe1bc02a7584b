import { z } from 'zod';
import { parseDuration } from '../duration.ts';

const PLACEHOLDER = /\.\.\.|…|\*{3}|^<.*>$|^(?:change_?me|your[-_ ].*|x{3,})$/i;

/** One secret. The problem says what to do, and never what was given. */
export function secret(form: RegExp, whatToDo: string) {
  return z
    .string({ error: `is missing: ${whatToDo}` })
    .trim()
    .min(1, `is empty: ${whatToDo}`)
    .refine((text) => !PLACEHOLDER.test(text), `is a placeholder: ${whatToDo}`)
    .regex(form, `is malformed: ${whatToDo}`);
}

/** Several secrets of one kind, separated by commas, while one is being replaced. */
export function secrets(form: RegExp, whatToDo: string) {
  const one = secret(form, whatToDo);
  return z
    .string({ error: `is missing: ${whatToDo}` })
    .transform((text) => text.split(','))
    .pipe(z.tuple([one]).rest(one));
}

/** A whole number within a range. */
export function wholeNumber(fallback: number, min: number, max: number) {
  const range = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number(range).int(range).min(min, range).max(max, range).default(fallback);
}

const LONGEST_INTERVAL_MS = 30 * 86_400_000;

/** How often something is done, in milliseconds; `null` when it never is. */
export function interval(fallback: string) {
  return z
    .string()
    .default(fallback)
    .transform((text, { addIssue }) => {
      if (text === 'off') return null;
      const intervalMs = parseDuration(text) ?? 0;
      if (intervalMs === 0 || intervalMs > LONGEST_INTERVAL_MS) {
        addIssue({ code: 'custom', message: 'must be off, or such as 90s, 15m, 1h; 30d at most' });
      }
      return intervalMs;
    });
}

/** An absolute URL of one of these protocols, such as `https:`. */
export function url(protocols: readonly string[], example: string) {
  const whatToDo = `must be a URL such as ${example}`;
  return z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), whatToDo)
    .transform((text) => new URL(text));
}
