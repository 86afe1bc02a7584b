import { durationText } from 'instep-operate';
import { currentRequest } from '../request-context.ts';

/** Longer text gets no tooltip. */
export const MAX_TOOLTIP_LENGTH = 2_000;

type UntrustedTextProps = { readonly text: string; readonly maxLength?: number };

/**
 * A name, an id or any other text that Stripe or the application wrote. It is escaped, its writing direction
 * can't affect the text after it, and the tooltip shows what was cut off.
 */
export function UntrustedText({ text, maxLength = 120 }: UntrustedTextProps) {
  const characters = [...text.slice(0, 2 * maxLength + 1)];
  const isCut = characters.length > maxLength;
  const start = isCut ? `${characters.slice(0, maxLength).join('')}…` : text;
  const shown = start.replace(EXCESS_MARKS, '');
  if (shown === text) return <bdi>{text}</bdi>;
  return <bdi title={text.slice(0, MAX_TOOLTIP_LENGTH)}>{shown}</bdi>;
}

/** A letter with hundreds of marks can't be broken, and some fonts make each mark as wide as a letter. */
const EXCESS_MARKS = /(?<=\p{M}{4})\p{M}+/gu;

const MAX_PLAIN_LENGTH = 80;

/** An untrusted text in a plain-text title: short, and without characters that would reverse the rest. */
export function plainText(text: string): string {
  const plain = text.slice(0, 1_000).replace(/[\p{Cc}\p{Cf}]/gu, '');
  if (plain.length <= MAX_PLAIN_LENGTH) return plain;
  return `${plain.slice(0, MAX_PLAIN_LENGTH - 1).toWellFormed()}…`;
}

/** A text as the beginning of a sentence. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** A sentence of ours, with what is between backticks as code. */
export function CodeText({ children }: { readonly children: string }) {
  const parts = children.split('`');
  return <>{parts.map((part, index) => (index % 2 === 0 ? part : <code>{part}</code>))}</>;
}

/** An untrusted text as a part of a sentence. */
export function quoted(text: string): string {
  return `"${plainText(text)}"`;
}

/** Whether a text has anything visible to click on. */
export function isVisible(text: string): boolean {
  return /[^\p{Z}\p{C}\p{M}\u115F\u1160\u2800\u3164\uFFA0]/u.test(text);
}

type OptionalTextProps = {
  readonly text: string | null;
  readonly fallback?: string;
  readonly maxLength?: number;
};

/** Untrusted text, or a dash where there is none. */
export function OptionalText({ text, fallback = '–', maxLength = 60 }: OptionalTextProps) {
  if (text === null) return <span>{fallback}</span>;
  return <UntrustedText text={text} maxLength={maxLength} />;
}

/** The zone of all times on the page: UTC, until a script shows them in the reader's. */
export function Zone() {
  return <span class="zone">UTC</span>;
}

/** How much of a time is shown. `times.js` has a format for each name. `age`: how long ago it was, if it was lately. */
type TimeFormat = 'full' | 'clock' | 'age';

type TimeProps = { readonly ms: number; readonly format?: TimeFormat };

/** A time in UTC, which a script converts to the reader's zone. The tooltip is exact. */
export function Time({ ms, format = 'full' }: TimeProps) {
  const exact = new Date(ms).toISOString();
  return (
    <time
      datetime={exact}
      title={exact.replace('T', ' ').replace('Z', ' UTC')}
      class={format === 'full' ? undefined : format}
    >
      {(format === 'age' && ageOf(ms)) || `${inUtc(exact, format)} UTC`}
    </time>
  );
}

/** An older time is shown by its date. `times.js` counts on. */
const MAX_AGE_MS = 24 * 3_600_000;

function ageOf(ms: number): string | null {
  const ageMs = currentRequest().nowMs - ms;
  return ageMs < MAX_AGE_MS ? `${durationText(ageMs)} ago` : null;
}

/** Where the parts of `2026-05-31T10:00:00.000Z` begin and end. */
const PARTS = {
  full: [0, 19],
  age: [0, 16],
  clock: [11, 19],
} as const satisfies Record<TimeFormat, readonly [number, number]>;

const inUtc = (exact: string, format: TimeFormat) =>
  exact.slice(...PARTS[format]).replace('T', ' ');
