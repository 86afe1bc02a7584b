import type { Check } from '../operate/context.ts';
import { InstepError } from '../runtime/errors.ts';

export type { Check };

export function ok(name: string, finding: string): Check {
  return { name, state: 'ok', finding, advice: null };
}

export function warning(name: string, finding: string, advice: string): Check {
  return { name, state: 'warning', finding, advice };
}

export function failure(name: string, finding: string, advice: string): Check {
  return { name, state: 'failure', finding, advice };
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
