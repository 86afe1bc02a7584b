import type { Database } from '../../database/database.ts';
import type { Logger } from '../../logging.ts';
import type { TeamPlanChoice } from '../../subscriptions/team-plan.ts';
import type { Accept } from '../../sync/door.ts';
import { openDoor } from '../../sync/open-door.ts';
import type { Random } from '../random.ts';
import type { Account } from './account.ts';
import { shakyDatabase } from './shaky-database.ts';

export type StoreDoorOptions = {
  readonly choice: TeamPlanChoice;
  readonly account: Account;
  readonly random: Random;
  readonly logger: Logger;
  readonly now: () => number;
};

/** How often a transaction fails before it begins, and how often after it was committed. */
const OUTAGE = 0.01;
const LOST_ANSWER = 0.01;

const MAX_QUEUED = 100_000;

/** The one door on connections that break, with the simulated API. */
export function createStoreDoor(pool: Database, options: StoreDoorOptions): Accept {
  const { account, random } = options;
  const database = shakyDatabase(pool, { outage: OUTAGE, lostAnswer: LOST_ANSWER, random });
  return openDoor({ ...options, database, api: account, maxQueued: MAX_QUEUED }).accept;
}
