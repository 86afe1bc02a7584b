export type UntrustedTextProps = {
  readonly text: string;
  /** What is longer is cut, and shown whole on demand. */
  readonly maxLength?: number;
};

/** More than this stands in no tooltip. */
const MAX_TITLE_LENGTH = 2_000;

/**
 * A text from elsewhere: a name, an id, whatever Stripe or an application has written. It is text
 * whatever it holds, its direction of writing ends with it, and it takes no more room than it may.
 */
export function UntrustedText({ text, maxLength = 120 }: UntrustedTextProps) {
  const characters = [...text.slice(0, 2 * maxLength + 1)];
  if (characters.length <= maxLength) return <bdi>{text}</bdi>;
  const start = characters.slice(0, maxLength).join('');
  return <bdi title={text.slice(0, MAX_TITLE_LENGTH)}>{`${start}…`}</bdi>;
}
