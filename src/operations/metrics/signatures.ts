import { type OnSigned, SignatureInvalid, type VerifySignature } from '../../stripe/signature.ts';
import type { Instruments } from './instruments.ts';

/** Counts what is not signed as it must be, and compares our clock with Stripe's. */
export function observeSignatures(instruments: Instruments, now: () => number) {
  const failures = instruments
    .counter({
      name: 'instep_signature_failures_total',
      help: 'Webhooks that are not signed with a secret of ours, or too long ago.',
      labelNames: [],
    })
    .with({});
  let skewSeconds: number | null = null;
  instruments.gauge(
    {
      name: 'instep_clock_skew_seconds',
      help: 'How far our clock was ahead of the time in the last signature when it arrived, the way included.',
    },
    () => (skewSeconds === null ? [] : [{ labels: {}, value: skewSeconds }]),
  );

  return {
    onSigned: ((timestampSeconds) => {
      skewSeconds = now() / 1_000 - timestampSeconds;
    }) satisfies OnSigned,

    observeSignatures(verify: VerifySignature): VerifySignature {
      return (body, header) => {
        try {
          return verify(body, header);
        } catch (error) {
          if (error instanceof SignatureInvalid) failures.increase();
          throw error;
        }
      };
    },
  };
}
