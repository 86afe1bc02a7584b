// Compares the three clocks: ours, Stripe's and the database's.

import { durationText } from '../runtime/amounts.ts';
import { type Check, failure, ok, warning } from './check.ts';

/** Stripe's times are whole seconds, and transit takes a moment. */
const TOLERATED_MS = 5_000;

/** Signatures are refused from 300 s on; a late delivery has less time left. */
const HARMFUL_MS = 240_000;

/** When a request was sent and its response received by our clock, and answered by the other clock. */
export type ClockReading = {
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  readonly answeredAtMs: number;
};

const OURS: ClockReading = { sentAtMs: 0, receivedAtMs: 0, answeredAtMs: 0 };

/** Compares our clock with Stripe's, which dates signatures and events. */
export function checkClock(stripe: ClockReading | null): Check {
  if (stripe === null) {
    return warning('clock', "could not be compared with Stripe's", 'see the lines about the API');
  }
  const aheadMs = aheadOf(OURS, stripe);
  const result = describe(aheadMs, "Stripe's");
  const advice = 'synchronize the clock of this machine with a time server (NTP)';
  if (isTolerated(aheadMs)) return ok('clock', result);
  if (Math.abs(aheadMs) < HARMFUL_MS) return warning('clock', result, advice);
  return failure(
    'clock',
    `${result}: webhooks are refused if the difference exceeds 300 s`,
    advice,
  );
}

/** Compares the database's clock, which dates the event log, with ours and with Stripe's. */
export function checkDatabaseClock(database: ClockReading, stripe: ClockReading | null): Check {
  const name = 'database clock';
  const oursMs = aheadOf(database, OURS);
  const stripesMs = stripe === null ? oursMs : aheadOf(database, stripe);
  if (isTolerated(oursMs) && isTolerated(stripesMs)) {
    return ok(name, `agrees with ours${stripe === null ? '' : " and Stripe's"}`);
  }
  const others = stripe === null ? '' : `, ${describe(stripesMs, "Stripe's")}`;
  const result = `${describe(oursMs, 'ours')}${others}: times in the event log are wrong`;
  return warning(name, result, 'synchronize the clocks with a time server (NTP)');
}

/** The least time by which a clock is ahead of another one, given the duration of the requests. */
function aheadOf(clock: ClockReading, reference: ClockReading): number {
  const minMs =
    clock.answeredAtMs - clock.receivedAtMs - (reference.answeredAtMs - reference.sentAtMs);
  const maxMs =
    clock.answeredAtMs - clock.sentAtMs - (reference.answeredAtMs - reference.receivedAtMs);
  return minMs > 0 ? minMs : Math.min(0, maxMs);
}

function isTolerated(aheadMs: number): boolean {
  return Math.abs(aheadMs) <= TOLERATED_MS;
}

function describe(aheadMs: number, whose: string): string {
  if (isTolerated(aheadMs)) return `agrees with ${whose}`;
  return `${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} ${whose}`;
}
