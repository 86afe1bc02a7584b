import type { IssueCode } from '../health/issues.ts';
import { InstepError } from '../runtime/errors.ts';

export type Check = {
  /** The subject of the check, in a word or two. */
  readonly name: string;
  /** The issue that was found, if it is one of those that the console lists too. */
  readonly code?: IssueCode;
  /** `warning`: it works for now, or could not be checked. `failure`: events are lost or refused. */
  readonly state: 'ok' | 'warning' | 'failure';
  /** The finding, and its meaning. */
  readonly finding: string;
  /** What to do; `null` when there is nothing to do. */
  readonly advice: string | null;
};

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
