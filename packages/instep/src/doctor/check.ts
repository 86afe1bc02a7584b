// Makes the results of checks, for all modules of doctor/.

import type { IssueCode } from '../health/issues.ts';

/** The result of one check of `instep doctor`. */
export type Check = {
  /** The subject of the check, in a word or two. */
  readonly name: string;
  /** The issue that was found, if it is one of those that the overview lists too. */
  readonly code?: IssueCode;
  /** `warning`: it works for now, or could not be checked. `failure`: events are lost or refused. */
  readonly state: 'ok' | 'warning' | 'failure';
  /** The result, and its meaning. */
  readonly result: string;
  /** What to do; `null` when there is nothing to do. */
  readonly advice: string | null;
};

export function ok(name: string, result: string): Check {
  return { name, state: 'ok', result, advice: null };
}

export function warning(name: string, result: string, advice: string): Check {
  return { name, state: 'warning', result, advice };
}

export function failure(name: string, result: string, advice: string): Check {
  return { name, state: 'failure', result, advice };
}
