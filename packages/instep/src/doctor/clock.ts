// Compares our clock with Stripe's.

import { durationText } from '../runtime/amounts.ts';
import { type Check, failure, ok, warning } from './check.ts';

/** Stripe's times are whole seconds, and transit takes a moment. */
const TOLERATED_MS = 5_000;

/** Signatures are refused from 300 s on; a late delivery has less time left. */
const HARMFUL_MS = 240_000;

/** When a request was sent and its response received by our clock, and answered by Stripe's. */
export type ClockReading = {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  readonly answeredAtMs: number;
};

/** Compares our clock with Stripe's, which dates signatures and events. */
export function checkClock(stripe: ClockReading | null): Check {
  if (stripe === null) {
    return warning('clock', "could not be compared with Stripe's", 'see the lines about the API');
  }
  const aheadMs = aheadOf(stripe);
  const result = describe(aheadMs);
  const advice = 'synchronize the clock of this machine with a time server (NTP)';
  if (isTolerated(aheadMs)) return ok('clock', result);
  if (Math.abs(aheadMs) < HARMFUL_MS) return warning('clock', result, advice);
  return failure(
    'clock',
    `${result}: webhooks are refused if the difference exceeds 300 s`,
    advice,
  );
}

/** The least time by which our clock is ahead of Stripe's, given the duration of the request. */
function aheadOf({ sentAtMs, receivedAtMs, answeredAtMs }: ClockReading): number {
  const minMs = sentAtMs - answeredAtMs;
  const maxMs = receivedAtMs - answeredAtMs;
  return minMs > 0 ? minMs : Math.min(0, maxMs);
}

function describe(aheadMs: number): string {
  if (isTolerated(aheadMs)) return "agrees with Stripe's";
  return `${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} Stripe's`;
}

function isTolerated(aheadMs: number): boolean {
  return Math.abs(aheadMs) <= TOLERATED_MS;
}
