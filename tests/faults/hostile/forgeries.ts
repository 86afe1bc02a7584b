import type { Random } from '../../../simulation/random.ts';

/** Valid credentials, which the server accepts. */
export type Genuine = {
  /** The value of the `Stripe-Signature` header for the body. */
  readonly signature: string;
  readonly body: string;
  /** A session's token. */
  readonly token: string;
};

/** A request with a nearly valid signature or session, which the server must refuse. */
export function makeForgery(random: Random, genuine: Genuine): Buffer {
  return random.chance(0.5) ? forgedWebhook(random, genuine) : forgedSession(random, genuine);
}

function forgedWebhook(random: Random, { signature, body }: Genuine): Buffer {
  const [time = '', hash = ''] = signature.split(',');
  const forged = random.pick<() => string>([
    () => `${time},${changed(hash, random)}`,
    () => `t=${random.below(2 ** 31)},${hash}`,
    () => `${time},v0=${hash.slice(3)}`,
    () => `${hash}`,
    () => `${time}`,
    () => `${time},v1=`,
    () => `${time},v1=${'0'.repeat(random.below(9_000))}`,
    () => `${time},${hash.slice(0, random.below(hash.length))}`,
    () =>
      `${time},${Array.from({ length: random.below(200) }, () => `v1=${random.below(9e9)}`).join()}`,
    () => `t=NaN,${hash}`,
    () => `t=,${hash}`,
    () => `t=-1,${hash}`,
    () => `t=1e9,${hash}`,
    () => `${time.toUpperCase()},${hash.toUpperCase()}`,
    () => random.pick(['', ',', '=', ',,,=', 't', 'v1', 't=v1,v1=t', '\u00ff', 't=1 v1=2']),
  ])();
  // A genuine signature of another body is not valid for this one.
  const isOther = random.chance(0.1);
  const head = isOther ? signature : forged;
  const sent = isOther ? `${body} ` : body;
  return requestOf('POST /api/stripe/webhook', [`Stripe-Signature: ${head}`], sent);
}

function forgedSession(random: Random, { token }: Genuine): Buffer {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const of = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forged = random.pick<() => string>([
    () => changed(token, random),
    () => `${of({ alg: 'none' })}.${payload}.`,
    () => `${of({ alg: 'none' })}.${payload}.${signature}`,
    () =>
      `${of({ alg: random.pick(['HS384', 'HS512', 'RS256', 'hs256', '']) })}.${payload}.${signature}`,
    () => `${header}.${of({ user: { id: random.below(100) }, exp: 9e9 })}.${signature}`,
    () => `${header}.${payload}`,
    () => `${header}.${payload}.`,
    () => `${token}.${signature}`,
    () => `${header}..${signature}`,
    () => token.slice(0, random.below(token.length)),
    () => 'a'.repeat(random.below(9_000)),
    () => '.'.repeat(random.below(9_000)),
    () => random.pick(['', '%', '%00', '"', '""', 'null', 'undefined', '\u00ff', '{}', '=']),
  ])();
  const cookie = random.pick([
    `session=${forged}`,
    `Session=${token}`,
    `session =${forged}`,
    `session="${forged}"; session=${forged}`,
    `${'a=b; '.repeat(random.below(500))}session=${forged}`,
    `; ;=;session=${forged};;`,
  ]);
  return requestOf('GET /api/user', [`Cookie: ${cookie}`], '');
}

/** A token of the same length, with another character in one place. */
function changed(text: string, random: Random): string {
  // The last character of a token can hold bits that no decoder reads.
  const at = 3 + random.below(text.length - 4);
  const other = text[at] === 'a' ? 'b' : 'a';
  return `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
}

/** The request's bytes, for a separate connection. */
export function requestOf(
  start: string,
  headers: readonly string[],
  body: string | Uint8Array,
): Buffer {
  const bytes = Buffer.from(body);
  const lines = [`${start} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers];
  if (start.startsWith('POST')) lines.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}
