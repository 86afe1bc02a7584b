import { currentRequest } from '../request-context.ts';
import { UntrustedText } from './text.tsx';

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

/** A whole id with a button that copies it and a link to Stripe's dashboard. */
export function StripeId({ text }: { readonly text: string | null }) {
  if (text === null) return <span>none</span>;
  const url = stripeUrl(text);
  return (
    <>
      <UntrustedText text={text} maxLength={300} />{' '}
      <button type="button" class="copy" data-copy={text} hidden>
        Copy
      </button>{' '}
      {url !== null && (
        <a class="whole" href={url} rel="noreferrer">
          Stripe dashboard
        </a>
      )}
    </>
  );
}
