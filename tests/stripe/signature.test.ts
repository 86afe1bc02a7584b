import fc from 'fast-check';
import { SignatureInvalid } from 'instep';
import { signWebhook } from 'instep/testing';
import Stripe from 'stripe';
import { expect, test } from 'vitest';
import { SignatureVerifier } from '../support/internals/stripe.ts';
import { repetitions } from '../support/test-length.ts';

const NOW_MS = 1_700_000_000_000;
const SECRET = 'whsec_current';
const verifier = new SignatureVerifier([SECRET, 'whsec_next']);
const verify = (body: Uint8Array, header: string | null) =>
  verifier.verify(body, verifier.parse(header), NOW_MS);
const bytes = (text: string) => new TextEncoder().encode(text);
const sign = (body: string, secret = SECRET, atMs = NOW_MS) => signWebhook(body, secret, atMs);

test.each([SECRET, 'whsec_next'])('accepts a signature with the secret %s', (secret) => {
  expect(verify(bytes('{"ü":"€"}'), sign('{"ü":"€"}', secret))).toBe('{"ü":"€"}');
});

test.each([
  ['no header', null],
  ['an empty header', ''],
  ['no timestamp', sign('{}').replace(/^t=\d+,/, '')],
  ['another scheme', sign('{}').replace('v1=', 'v0=')],
  ['another secret', sign('{}', 'whsec_other')],
  ['an empty secret', sign('{}', '')],
  ['another body', sign('{ }')],
  ['another time', sign('{}').replace(/^t=\d+/, 't=1700000001')],
  ['a time that is not a number', sign('{}').replace(/^t=\d+/, 't=now')],
  ['a signature that is too old', sign('{}', SECRET, NOW_MS - 301_000)],
  ['the same time in another notation', sign('{}').replace('t=', 't=0')],
  ['a signature of another length', `${sign('{}')}00`],
  ['a signature in upper case', sign('{}').replace(/v1=.*/, (mac) => mac.toUpperCase())],
  ['garbage', 't=,v1=,=,,v1'],
])('refuses %s', (_, header) => {
  expect(() => verify(bytes('{}'), header)).toThrow(SignatureInvalid);
});

test('refuses bytes that only decode to the signed text', () => {
  const header = sign('\uFFFD');
  expect(() => verify(new Uint8Array([0xff]), header)).toThrow(SignatureInvalid);
  expect(() => verify(new Uint8Array([0xef, 0xbb, 0xbf, ...bytes('{}')]), sign('{}'))).toThrow(
    SignatureInvalid,
  );
});

test("accepts and refuses the same signatures as Stripe's own SDK", () => {
  const { signature } = Stripe.webhooks;
  const secrets = fc.constantFrom(SECRET, 'whsec_next', 'whsec_other', 'ключ');
  const header = fc.record({
    body: fc.string({ unit: 'binary', minLength: 1 }),
    secrets: fc.array(secrets),
  });
  fc.assert(
    fc.property(
      header,
      fc.integer({ min: -900, max: 900 }),
      fc.boolean(),
      (given, age, isOther) => {
        const signed = given.secrets.map((secret) =>
          sign(given.body, secret, NOW_MS - age * 1_000).replace(/^.*,/, ''),
        );
        const sent = `t=${NOW_MS / 1_000 - age},${signed.join(',')}`;
        const body = isOther ? `${given.body} ` : given.body;
        const theirs = verdict(() =>
          [SECRET, 'whsec_next'].some((secret) => {
            return verdict(() =>
              signature?.verifyHeader(body, sent, secret, 300, undefined, NOW_MS),
            );
          }),
        );
        expect(verdict(() => verify(bytes(body), sent) === body)).toBe(theirs);
      },
    ),
    { numRuns: repetitions(100, 1_000) },
  );
});

function verdict(verify: () => boolean | undefined): boolean {
  try {
    return verify() === true;
  } catch {
    return false;
  }
}
