import { tellLife } from '../../src/testing/lifecycle/history.ts';
import type { RunCase } from '../shrink-case.ts';
import { runCoreRound } from './core-round.ts';
import { readHistory } from './customer-events.ts';

/** Lives one customer's case in memory. */
export const runCase: RunCase = async ({ told, steps, planSelection }) => {
  const audience = readHistory(tellLife(told.life, told.telling));
  const audiences = new Map([[told.life.customerId, audience]]);
  return runCoreRound({ audiences, steps, planSelection }).divergences;
};
