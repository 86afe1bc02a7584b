import type { Check } from '../operate/context.ts';
import { InstepError } from '../runtime/errors.ts';

export type { Check };

export function ok(name: string, result: string): Check {
  return { name, state: 'ok', result, advice: null };
}

export function warning(name: string, result: string, advice: string): Check {
  return { name, state: 'warning', result, advice };
}

export function failure(name: string, result: string, advice: string): Check {
  return { name, state: 'failure', result, advice };
}

/** The result of a check, or the error of Instep that ended it. */
export async function safely(
  name: string,
  advice: string,
  check: () => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    return [failure(name, error.message, advice)];
  }
}
