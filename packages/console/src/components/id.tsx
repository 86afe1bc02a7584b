import type { Person } from 'instep-operate';
import { currentRequest } from '../request-context.ts';
import { MAX_TOOLTIP_LENGTH, UntrustedText } from './text.tsx';

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

const PATHS: Readonly<Record<string, string>> = {
  cus: 'customers',
  sub: 'subscriptions',
  prod: 'products',
  evt: 'events',
};

/** The page of Stripe's dashboard about an id; `null`: it has none. */
export function stripeUrl(id: string | null): string | null {
  const [, prefix = ''] = /^([a-z]+)_\w{1,250}$/.exec(id ?? '') ?? [];
  const path = PATHS[prefix];
  const mode = currentRequest().mode === 'live' ? '' : '/test';
  return path === undefined ? null : `https://dashboard.stripe.com${mode}/${path}/${id}`;
}

type PersonTextProps = { readonly person: Person | undefined };

/** Whom a customer stands for, as Stripe says. */
export function PersonText({ person }: PersonTextProps) {
  const parts = [person?.name ?? [], person?.email ?? []].flat();
  if (parts.length === 0) return null;
  return <UntrustedText text={parts.join(', ')} maxLength={200} />;
}

/** A whole id with a link to Stripe's dashboard. */
export function StripeId({ text }: { readonly text: string | null }) {
  if (text === null) return <span>none</span>;
  const url = stripeUrl(text);
  return (
    <>
      <UntrustedText text={text} maxLength={300} />{' '}
      {url !== null && (
        <a class="whole" href={url} rel="noreferrer">
          Stripe dashboard
        </a>
      )}
    </>
  );
}
