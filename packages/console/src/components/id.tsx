import { createContext, type PropsWithChildren, useContext } from 'hono/jsx';
import { MAX_TOOLTIP_LENGTH } from './text.tsx';

const SHORT_ID_LENGTH = 20;
const START_LENGTH = 8;
const LEAST_END_LENGTH = 6;

/** Stripe's ids are shorter. */
const MOST_END_LENGTH = 40;

/** The length of the prefix that shows what an id stands for, such as `cus_`. */
const PREFIX_LENGTH = 4;

/** How many of the last characters of an id are in view. */
const EndLength = createContext(LEAST_END_LENGTH);

/** The ids that a list shows; `null` or `undefined` where a row has none. */
export type ListedIds = readonly (string | null | undefined)[];

/** Contains the shortened ids of a list. They end with as many characters as tell them apart. */
export function DistinctIds({ ids, children }: PropsWithChildren<{ readonly ids: ListedIds }>) {
  return <EndLength.Provider value={endLengthOf(ids)}>{children}</EndLength.Provider>;
}

function endLengthOf(ids: ListedIds): number {
  const long = [...new Set(ids)].flatMap((id) => (id && id.length > SHORT_ID_LENGTH ? [id] : []));
  for (let length = LEAST_END_LENGTH; length < MOST_END_LENGTH; length += 1) {
    const shown = new Set(long.map((id) => id.slice(0, PREFIX_LENGTH) + id.slice(-length)));
    if (shown.size === long.length) return length;
  }
  return MOST_END_LENGTH;
}

/**
 * An untrusted id. The style sheet hides the middle of a long one; selecting, copying and searching the
 * page use the whole id.
 */
export function Id({ text }: { readonly text: string }) {
  if (text.length <= SHORT_ID_LENGTH) return <bdi class="id">{text}</bdi>;
  const endLength = useContext(EndLength);
  const characters = [...text.slice(0, MAX_TOOLTIP_LENGTH)];
  const endsAt = Math.max(START_LENGTH, characters.length - endLength);
  const middle = characters.slice(START_LENGTH, endsAt).join('');
  return (
    <bdi class={endLength > LEAST_END_LENGTH ? 'id long' : 'id'} title={characters.join('')}>
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
