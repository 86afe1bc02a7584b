import { createHmac } from 'node:crypto';
import { SignatureInvalid, SignatureVerifier } from 'instep-engine/src/stripe/signature.ts';
import { expect } from 'vitest';
import type { Target } from '../fuzz.ts';

const NOW_SECONDS = 1_700_000_000;
const OURS = ['whsec_current', 'whsec_older'];
const verifier = new SignatureVerifier(OURS);

/** Characters that a careless decoder confuses: a byte order mark, and U+FFFD. */
const BODY = Buffer.from('\uFEFF{"id":"evt_\uFFFD"}');

function macOf(secret: string, seconds: number, body = BODY): string {
  return createHmac('sha256', secret).update(`${seconds}.`).update(body).digest('hex');
}

const TIMES = [0, -300, -301, 10].map((age) => NOW_SECONDS + age);
const GOOD_MACS = TIMES.filter((seconds) => seconds >= NOW_SECONDS - 300).flatMap((seconds) =>
  OURS.map((secret) => macOf(secret, seconds)),
);
const SECRETS = [...OURS, 'whsec_other', ''];
const signed = TIMES.flatMap((seconds) =>
  SECRETS.filter((secret) => secret !== '').map(
    (secret) => `t=${seconds},v1=${macOf(secret, seconds)}`,
  ),
);
const ofOtherBodies = `t=${NOW_SECONDS},v1=${macOf('whsec_current', NOW_SECONDS, Buffer.from('{}'))}`;

/** A header, a line feed, and a body. */
export const stripeSignature: Target = {
  seeds: [...signed, ofOtherBodies].map((header) => `${header}\n${BODY.toString('latin1')}`),
  dictionary: [
    ...signed.flatMap((header) => [header, ...header.split(',')]),
    ...['v0=', 'v1=', 't=', ',', '=', '\n', '-1', 'NaN', '0x10', '1e9', ' ', '\0', '__proto__='],
    ...['\xEF\xBB\xBF', '\xEF\xBF\xBD', '\xFF', '\xC0\x80', '\xED\xA0\x80', '{}'],
  ],
  check(input) {
    const end = input.indexOf('\n');
    const header = end === -1 ? null : input.slice(0, end);
    const body = Buffer.from(input.slice(end + 1), 'latin1');
    try {
      const text = verifier.verify(body, verifier.parse(header), NOW_SECONDS * 1_000);
      expect(Buffer.from(text).equals(BODY)).toBe(true);
    } catch (error) {
      if (error instanceof SignatureInvalid) return false;
      throw error;
    }
    expect(body.equals(BODY)).toBe(true);
    expect(GOOD_MACS.some((mac) => header?.includes(mac))).toBe(true);
    return true;
  },
};
