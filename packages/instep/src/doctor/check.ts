// Makes the results of checks, for all modules of doctor/.

import type { Check } from 'instep-operate';

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
