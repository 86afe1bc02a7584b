// Verifies Stripe's signatures, for the webhook.

import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { InstepError } from '../runtime/errors.ts';

/** The greatest age of a signature: Stripe's own default. */
const TOLERANCE_SECONDS = 300;

export class SignatureInvalid extends InstepError {
  readonly code = 'SIGNATURE_INVALID';
}

/** `missing`: not of Stripe's form. `wrong`: of another secret or body. `old`: sent again after minutes. */
type SignatureProblem = 'missing' | 'wrong' | 'old' | 'not-utf-8';

/**
 * Verifies webhooks with any of the endpoint's signing secrets: there are two while one is being
 * replaced.
 *
 * Stripe signs the timestamp, a dot and the body by HMAC-SHA256 with the secret
 * (https://docs.stripe.com/webhooks/signature, "Verify manually").
 */
export class SignatureVerifier {
  #keys: KeyObject[];
  #onRejected: (problem: SignatureProblem) => void;

  constructor(
    secrets: readonly string[],
    onRejected: (problem: SignatureProblem) => void = () => undefined,
  ) {
    this.#keys = secrets.map((secret) => createSecretKey(secret, 'utf8'));
    this.#onRejected = onRejected;
  }

  /** Parses a signature header, before the body is read. @throws SignatureInvalid */
  parse(header: string | null): Signature {
    return (
      (header && parseHeader(header)) ||
      this.#refuse('missing', 'there is no signature of the scheme v1')
    );
  }

  /**
   * The text of a signed body. The time of receipt is in milliseconds since 1970.
   *
   * @throws SignatureInvalid
   */
  verify(body: Uint8Array, signature: Signature, receivedAtMs: number): string {
    if (!this.#keys.some((key) => isSigned(body, signature, key))) {
      this.#refuse('wrong', 'no signature of the body matches a signing secret');
    }
    const ageSeconds = Math.floor(receivedAtMs / 1_000) - signature.timestampSeconds;
    // Negated, so that an invalid time (NaN) counts as too old.
    if (!(ageSeconds <= TOLERANCE_SECONDS)) {
      this.#refuse('old', `the signature is older than ${TOLERANCE_SECONDS} seconds`);
    }
    try {
      return STRICT_UTF8.decode(body);
    } catch (cause) {
      return this.#refuse('not-utf-8', 'the body is not UTF-8', { cause });
    }
  }

  #refuse(problem: SignatureProblem, message: string, options?: ErrorOptions): never {
    this.#onRejected(problem);
    throw new SignatureInvalid(message, options);
  }
}

export type Signature = {
  /** The text as it was signed: `01` is the same number as `1`, but a different text. */
  readonly timestamp: string;
  readonly timestampSeconds: number;
  /** One MAC for each secret that Stripe signs with. */
  readonly macs: readonly Uint8Array[];
};

const TIMESTAMP = /^\d{1,12}$/;
const MAC = /^[\da-f]{64}$/;

/** `t=1700000000,v1=…,v1=…,v0=…`; `null` without a time, or without a signature of our scheme. */
function parseHeader(header: string): Signature | null {
  let timestamp = '';
  const macs: Uint8Array[] = [];
  for (const item of header.split(',')) {
    const separator = item.indexOf('=');
    const name = item.slice(0, separator);
    const value = item.slice(separator + 1);
    if (name === 't') timestamp = value;
    if (name === 'v1' && MAC.test(value)) macs.push(Buffer.from(value, 'hex'));
  }
  if (!TIMESTAMP.test(timestamp) || macs.length === 0) return null;
  return { timestamp, timestampSeconds: Number(timestamp), macs };
}

function isSigned(body: Uint8Array, { timestamp, macs }: Signature, key: KeyObject): boolean {
  const expected = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest();
  return macs.some((mac) => timingSafeEqual(mac, expected));
}

/** Strict, and keeps a byte order mark, so that the text represents exactly these bytes. */
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
