import { currentRequest } from '../request-context.ts';
import { UntrustedText } from './text.tsx';

const PATHS: Readonly<Record<string, string>> = {
  cus: 'customers',
  sub: 'subscriptions',
  prod: 'products',
  evt: 'events',
};

/** A whole id with a button that copies it and a link to Stripe's dashboard. */
export function StripeId({ text }: { readonly text: string | null }) {
  if (text === null) return <span>none</span>;
  const [, prefix = ''] = /^([a-z]+)_\w{1,250}$/.exec(text) ?? [];
  const path = PATHS[prefix];
  const mode = currentRequest().mode === 'live' ? '' : '/test';
  return (
    <>
      <UntrustedText text={text} maxLength={300} />{' '}
      <button type="button" class="copy" data-copy={text} hidden>
        Copy
      </button>{' '}
      {path !== undefined && (
        <a
          class="whole"
          href={`https://dashboard.stripe.com${mode}/${path}/${text}`}
          rel="noreferrer"
        >
          Stripe dashboard
        </a>
      )}
    </>
  );
}
