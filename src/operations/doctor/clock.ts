import { durationOf } from '../../runtime/duration.ts';
import { type Check, failure, ok, warning } from './check.ts';

const NAME = 'clock';

/** Stripe tells whole seconds, and the way takes a moment. */
const UNREMARKABLE_MS = 5_000;

/** Signatures are refused from 300 s on; those that come late have that much less. */
const HARMFUL_MS = 240_000;

const WHAT_TO_DO = "let this machine's clock follow a time server (NTP)";

/** When a call began and ended by our clock, and when Stripe answered by its own, in milliseconds. */
export type ClockReading = {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly answeredMs: number;
};

/** How far our clock is from Stripe's, by whose second signatures and events go. */
export function checkClock(reading: ClockReading | null): Check {
  if (reading === null) {
    return warning(NAME, "could not be compared with Stripe's", 'look at the lines about the API');
  }
  const { beganMs, endedMs, answeredMs } = reading;
  const aheadMs = beganMs > answeredMs ? beganMs - answeredMs : Math.min(0, endedMs - answeredMs);
  const offMs = Math.abs(aheadMs);
  if (offMs <= UNREMARKABLE_MS) return ok(NAME, "as Stripe's");
  const says = `${durationOf(offMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} Stripe's`;
  if (offMs < HARMFUL_MS) return warning(NAME, says, WHAT_TO_DO);
  return failure(NAME, `${says}: signatures are refused from 300 s on`, WHAT_TO_DO);
}
