import type { Child } from 'hono/jsx';
import { counted } from 'instep/operate';
import { Time, UntrustedText } from '../components/text.tsx';

/** How much of a body that is not JSON is shown, in characters. */
const MAX_SHOWN = 4_000;

/** Objects and lists above this depth are open at first. */
const OPEN_DEPTH = 3;

/** More than Stripe sends, and few enough for a browser. */
const MAX_VALUES = 3_000;
const MAX_DEPTH = 40;

/** The body of an event as a tree that shows every value as it was sent. */
export function Payload({ body }: { readonly body: Uint8Array }) {
  const text = new TextDecoder().decode(body);
  if (isJson(text)) return <div class="json">{new JsonRenderer(text).value()}</div>;
  return (
    <>
      <p>The body is not JSON.</p>
      <pre>
        <bdi>{text.slice(0, MAX_SHOWN)}</bdi>
      </pre>
      {text.length > MAX_SHOWN && <Rest />}
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

const Rest = () => <p class="quiet">The rest is in the download.</p>;

/** Seconds since 1970, from 2001 on. */
const TIME = /^[1-9]\d{9}$/;

/** Stripe's names for times. */
const TIME_NAME = /^"(?:created|start_date|.*_(?:at|from|end|start|anchor|date))"$/;

/** Without commas and colons, which carry no information once the text is known to be JSON. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|[{}[\]]|[^\s{}[\]:,"]+/g;

/**
 * Renders valid JSON token by token. `JSON.parse` would round large numbers and drop duplicate
 * names.
 */
class JsonRenderer {
  #tokens: Iterator<RegExpExecArray, unknown>;
  #token = '';
  #values = 0;

  constructor(text: string) {
    this.#tokens = text.matchAll(TOKENS);
    this.#next();
  }

  /** Renders the value that starts at the current token. */
  value(name: Child = '', depth = 0, isTime = false): Child {
    this.#values += 1;
    const token = this.#next();
    if (token === '{' || token === '[') return this.#container(token, name, depth);
    return (
      <div>
        {name}
        {token.startsWith('"') ? (
          <span class="json-text">
            "<UntrustedText text={JSON.parse(token)} maxLength={300} />"
          </span>
        ) : (
          <>
            <span class="json-literal">{token}</span>
            {TIME.test(token) && isTime && (
              <span class="quiet">
                {' '}
                <Time ms={Number(token) * 1_000} />
              </span>
            )}
          </>
        )}
      </div>
    );
  }

  #container(opening: '{' | '[', name: Child, depth: number): Child {
    const [closing, noun] = opening === '{' ? ['}', 'member'] : [']', 'item'];
    const children: Child[] = [];
    let isCut = false;
    while (this.#token !== closing && !isCut) {
      isCut = depth >= MAX_DEPTH || this.#values >= MAX_VALUES;
      if (isCut) this.#skip();
      else {
        const isTime = TIME_NAME.test(this.#token);
        children.push(this.value(opening === '{' && this.#name(), depth + 1, isTime));
      }
    }
    if (!isCut) this.#next();
    if (children.length === 0 && !isCut) {
      return (
        <div>
          {name}
          {opening + closing}
        </div>
      );
    }
    const count = `${counted(children.length, noun)}${isCut ? ' or more' : ''}`;
    return (
      <details open={depth < OPEN_DEPTH}>
        <summary>
          {name}
          {opening} <span class="quiet">{count}</span> {closing}
        </summary>
        {children}
        {isCut && <Rest />}
      </details>
    );
  }

  #name(): Child {
    return (
      <>
        <span class="json-name">
          <UntrustedText text={JSON.parse(this.#next())} />
        </span>
        :{' '}
      </>
    );
  }

  /** Moves past the end of the innermost object or list. */
  #skip(): void {
    for (let open = 1; open > 0; ) {
      const token = this.#next();
      if (token === '{' || token === '[') open += 1;
      if (token === '}' || token === ']') open -= 1;
    }
  }

  /** Returns the current token and moves to the next one. */
  #next(): string {
    const token = this.#token;
    const next = this.#tokens.next();
    this.#token = next.done ? '' : next.value[0];
    return token;
  }
}
