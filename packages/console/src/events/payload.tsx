import type { Child } from 'hono/jsx';
import { Time, UntrustedText } from '../components/text.tsx';

/** How much of a body that is not JSON is shown, in characters. */
const MAX_SHOWN = 4_000;

/** More than an event of Stripe has, and few enough for a browser. */
const MAX_TOKENS = 12_000;

/** Everything but white space. `JSON.parse` would round large numbers and drop names that occur twice. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|[{}[\],:]|[^\s{}[\]:,"]+/g;

/** The body of an event, indented, with every value as it was sent. */
export function Payload({ body }: { readonly body: Uint8Array }) {
  const text = new TextDecoder().decode(body);
  const tokens = isJson(text) ? (text.match(TOKENS) ?? []) : null;
  const isCut = tokens === null ? text.length > MAX_SHOWN : tokens.length > MAX_TOKENS;
  return (
    <>
      {tokens === null && <p>The body is not JSON.</p>}
      <pre>{tokens === null ? <bdi>{text.slice(0, MAX_SHOWN)}</bdi> : indented(tokens)}</pre>
      {isCut && <p class="quiet">The rest is in the download.</p>}
    </>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function indented(tokens: readonly string[]): Child[] {
  let depth = 0;
  let name = '';
  return tokens.slice(0, MAX_TOKENS).map((token, index) => {
    const next = tokens[index + 1];
    if (token === ':') return ': ';
    if (token === ',') return `,${lineAt(depth)}`;
    if (OPENING.test(token)) {
      depth += 1;
      return CLOSING.test(next ?? '') ? token : token + lineAt(depth);
    }
    if (CLOSING.test(token)) {
      depth -= 1;
      return OPENING.test(tokens[index - 1] ?? '') ? token : lineAt(depth) + token;
    }
    if (next !== ':') return <Value token={token} isTime={TIME_NAME.test(name)} />;
    name = token;
    return (
      <span class="json-name">
        <UntrustedText text={JSON.parse(token)} />
      </span>
    );
  });
}

const OPENING = /^[{[]$/;
const CLOSING = /^[}\]]$/;

/** Deeper ones begin at the same place. */
const MAX_DEPTH = 20;

const lineAt = (depth: number) => `\n${'  '.repeat(Math.min(depth, MAX_DEPTH))}`;

/** Stripe's names for times. */
const TIME_NAME = /^"(?:created|start_date|.*_(?:at|from|end|start|anchor|date))"$/;

/** Seconds since 1970, from 2001 on. */
const TIME = /^[1-9]\d{9}$/;

function Value({ token, isTime }: { readonly token: string; readonly isTime: boolean }) {
  if (token.startsWith('"')) {
    return (
      <span class="json-text">
        "<UntrustedText text={JSON.parse(token)} maxLength={300} />"
      </span>
    );
  }
  return (
    <>
      <span class="json-literal">{token}</span>
      {isTime && TIME.test(token) && (
        <span class="quiet">
          {' '}
          <Time ms={Number(token) * 1_000} />
        </span>
      )}
    </>
  );
}
