import Stripe from 'stripe';
import { InstepError } from '../errors.ts';

/** How old a signature may be (contract, section 4; Stripe's own default). */
const TOLERANCE_SECONDS = 300;

export class SignatureInvalid extends InstepError {
  readonly code = 'SIGNATURE_INVALID';
}

/** Turns the received bytes into the text that was signed, or throws `SignatureInvalid`. */
export type VerifySignature = (body: Uint8Array, header: string | null) => string;

/**
 * Verifies webhooks with any of the endpoint's signing secrets: there are two while one is being
 * replaced. `now` is in milliseconds since 1970.
 */
export function createSignatureVerifier(
  secrets: readonly string[],
  now: () => number,
): VerifySignature {
  return (body, header) => {
    const text = decode(body);
    if (header === null || !secrets.some((secret) => isSigned(text, header, secret, now()))) {
      throw new SignatureInvalid('no signature of the body matches a signing secret');
    }
    return text;
  };
}

const { signature } = Stripe.webhooks;

function isSigned(text: string, header: string, secret: string, nowMs: number): boolean {
  if (signature === null) throw new TypeError("Stripe's SDK came without signatures");
  try {
    return signature.verifyHeader(text, header, secret, TOLERANCE_SECONDS, undefined, nowMs);
  } catch {
    // An odd header makes the SDK throw plain errors as well; each says that nothing is verified.
    return false;
  }
}

/**
 * Stripe's SDK hashes decoded text. Decoded strictly and with its byte order mark kept, the text
 * stands for exactly these bytes, so a signature over the one is a signature over the other.
 */
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(body: Uint8Array): string {
  try {
    return strictUtf8.decode(body);
  } catch (cause) {
    throw new SignatureInvalid('the body is not UTF-8', { cause });
  }
}
