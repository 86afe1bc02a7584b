import { Time, UntrustedText } from '../components/text.tsx';

/** More than an event of Stripe has, and few enough for a browser, in characters. */
const MAX_SHOWN = 100_000;

/** In a line, which can be a whole body that is not JSON. */
const MAX_LINE_LENGTH = 1_000;

/** The body of an event, indented, with the dates of its times. Only the download has very large numbers exactly. */
export function Payload({ body }: { readonly body: Uint8Array }) {
  const text = indented(new TextDecoder().decode(body));
  const lines = text.slice(0, MAX_SHOWN).split('\n');
  return (
    <>
      <pre>
        {lines.map((line) => (
          <>
            <UntrustedText text={line} maxLength={MAX_LINE_LENGTH} />
            <LineTime line={line} />
            {'\n'}
          </>
        ))}
      </pre>
      {text.length > MAX_SHOWN && <p class="quiet">The rest is in the download.</p>}
    </>
  );
}

/** As it was sent if it is not JSON, or too deep to be shown. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** A name that Stripe gives to times, and seconds since 1970, from 2001 on. */
const TIME_LINE =
  /^ *"(?:created|start_date|.*_(?:at|from|end|start|anchor|date))": ([1-9]\d{9}),?$/;

function LineTime({ line }: { readonly line: string }) {
  const [, seconds] = TIME_LINE.exec(line) ?? [];
  if (seconds === undefined) return null;
  return (
    <span class="quiet">
      {' '}
      <Time ms={Number(seconds) * 1_000} />
    </span>
  );
}
