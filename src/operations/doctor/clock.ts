import { durationOf } from '../../runtime/duration.ts';
import { type Check, failure, ok, warning } from './check.ts';

/** Stripe's times are whole seconds, and transit takes a moment. */
const TOLERATED_MS = 5_000;

/** Signatures are refused from 300 s on; a late delivery has less time left. */
const HARMFUL_MS = 240_000;

/** When a call began and ended by our clock, and the time of Stripe's response by its own. */
export type ClockReading = {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly answeredMs: number;
};

/** Compares our clock with Stripe's, which signatures and events are dated by. */
export function checkClock(reading: ClockReading | null): Check {
  if (reading === null) {
    return warning('clock', "could not be compared with Stripe's", 'see the lines about the API');
  }
  const { beganMs, endedMs, answeredMs } = reading;
  const aheadMs = beganMs > answeredMs ? beganMs - answeredMs : Math.min(0, endedMs - answeredMs);
  const offMs = Math.abs(aheadMs);
  if (offMs <= TOLERATED_MS) return ok('clock', "agrees with Stripe's");
  const finding = `${durationOf(offMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} Stripe's`;
  const advice = 'synchronize the clock of this machine with a time server (NTP)';
  if (offMs < HARMFUL_MS) return warning('clock', finding, advice);
  return failure('clock', `${finding}: webhooks are refused from 300 s on`, advice);
}
