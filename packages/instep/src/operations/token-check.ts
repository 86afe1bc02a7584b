import type { TokenVerdict } from '../operate/console-package.ts';
import { limitLines } from '../runtime/line-limiter.ts';
import type { Logger } from '../runtime/logging.ts';
import { isSameSecret } from '../runtime/same-secret.ts';

type TokenCheckOptions = {
  readonly token: string;
  readonly logger: Logger;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
  readonly wait: (delayMs: number) => Promise<void>;
};

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;
const FORGOTTEN_AFTER_MS = 60_000;
const MAX_WAITING = 20;

export type TokenCheck = ReturnType<typeof createTokenCheck>;

/**
 * Checks a token. Each wrong one waits twice as long as the one before, no matter who sends it. The right one
 * never waits, so the attempts of others can't lock an operator out. While 20 wrong ones wait, others are `too many`,
 * which bounds the memory.
 */
export function createTokenCheck({ token, clockMs, wait, logger }: TokenCheckOptions) {
  let failures = 0;
  let failedAtMs = 0;
  let waiting = 0;
  const write = limitLines((members) => logger.warn(members, 'wrong operations token'));

  return async (text: string): Promise<TokenVerdict> => {
    if (isSameSecret(text, token)) return 'right';
    if (clockMs() - failedAtMs > FORGOTTEN_AFTER_MS) failures = 0;
    failedAtMs = clockMs();
    failures += 1;
    write({ failures });
    if (waiting >= MAX_WAITING) return 'too many';
    waiting += 1;
    await wait(Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS));
    waiting -= 1;
    return 'wrong';
  };
}
