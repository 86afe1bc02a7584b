import { limitLines } from '../../../server/line-limiter.ts';
import type { ConsoleOptions } from '../options.ts';
import { tooManyAttempts } from '../problems.ts';
import { isSameSecret } from './is-same-secret.ts';

export type TokenCheckOptions = Pick<ConsoleOptions, 'now' | 'wait' | 'logger'> & {
  readonly token: string;
};

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4_000;
const FORGOTTEN_AFTER_MS = 60_000;
const MAX_WAITING = 20;

/**
 * Says whether a text is the token. Whoever is wrong waits, each time twice as long, whoever it was
 * before; who is right never does, so that nobody is locked out by others' attempts.
 *
 * @throws PageProblem 429 for wrong ones when so many wait already that more would cost us memory
 */
export function createTokenCheck({ token, now, wait, logger }: TokenCheckOptions) {
  let failures = 0;
  let failedAtMs = 0;
  let waiting = 0;
  const write = limitLines({
    now,
    write: (members) => logger.warn(members, 'wrong operations token'),
  });

  return async (text: string): Promise<boolean> => {
    if (isSameSecret(text, token)) return true;
    if (now() - failedAtMs > FORGOTTEN_AFTER_MS) failures = 0;
    failedAtMs = now();
    failures += 1;
    write({ failures });
    if (waiting >= MAX_WAITING) throw tooManyAttempts();
    waiting += 1;
    await wait(Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS));
    waiting -= 1;
    return false;
  };
}

export type TokenCheck = ReturnType<typeof createTokenCheck>;
