import { MAX_TOOLTIP_LENGTH } from './text.tsx';

const SHORT_ID_LENGTH = 20;

/** With the prefix that shows what an id stands for, such as `cus_`. */
const START_LENGTH = 8;

/** Enough to tell two ids of Stripe apart. */
const END_LENGTH = 8;

/**
 * An untrusted id. The style sheet hides the middle of a long one; selecting, copying and searching the
 * page use the whole id.
 */
export function Id({ text }: { readonly text: string }) {
  if (text.length <= SHORT_ID_LENGTH) return <bdi class="id">{text}</bdi>;
  const characters = [...text.slice(0, MAX_TOOLTIP_LENGTH)];
  const endsAt = Math.max(START_LENGTH, characters.length - END_LENGTH);
  const middle = characters.slice(START_LENGTH, endsAt).join('');
  return (
    <bdi class="id" title={characters.join('')}>
      <span>{characters.slice(0, START_LENGTH).join('')}</span>
      {middle !== '' && <span>{middle}</span>}
      {characters.slice(endsAt).join('')}
    </bdi>
  );
}

type IdLinkProps = { readonly href: string; readonly id: string };

/** A link with an id as its text. The label keeps screen readers from splitting a shortened id. */
export function IdLink({ href, id }: IdLinkProps) {
  return (
    <a href={href} aria-label={id.slice(0, 100).toWellFormed()}>
      <Id text={id} />
    </a>
  );
}
