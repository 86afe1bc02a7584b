// The jobs that find customers whose teams lack what their state says, and give it to them: teams that were linked or
// created after the events, plans by other settings, and names that became known only after the plans.

import type { Settle } from '../log/pipeline.ts';
import type { Database, Query } from '../postgres/database.ts';
import { canOthersSucceed } from '../postgres/errors.ts';
import { type DuePage, type Examined, findCustomers } from '../postgres/examine.ts';
import type { NamedStatement } from '../postgres/named-statement.ts';
import { readStates } from '../postgres/statements/customers.ts';
import { readEmptyTeams } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { type AccessRules, ALL_ACCESS_RULES, accessRulesText } from '../rule/access-facts.ts';
import type { CustomerState } from '../rule/customer-state.ts';
import type { PlanInRow } from '../rule/plan-fields.ts';
import { planWriterOf } from '../rule/plan-writer.ts';
import type { Logger } from '../runtime/logging.ts';
import { READS_ALL_TEAMS, sweep, withLease } from './lease.ts';
import { Rests } from './rests.ts';
import type { Job } from './worker.ts';

type SettleOptions = AccessRules & {
  readonly database: Database;
  readonly settle: Settle;
  readonly logger: Logger;
  /** The instance, for the leases. */
  readonly holder: string;
  /** How long after a search another one begins. */
  readonly dueAfterMs?: number;
  /** For how long a customer that could not be settled is left alone. */
  readonly againAfterMs?: number;
};

/** Finds the next customers that are due. */
type Find = (page: DuePage) => Promise<Examined<string, string | number>>;

/** Returns whether that changed anything. */
type Repair = (customerId: string) => Promise<boolean>;

const BATCH = 200;

export function createSettleJobs(options: SettleOptions): Job[] {
  const { database, settle, logger, planSelection, keepsPaused, holder } = options;
  const { dueAfterMs = READS_ALL_TEAMS.dueAfterMs, againAfterMs = 10_000 } = options;
  const { query } = database;

  /** One instance at a time searches. Its repairs need no lease, so that a slow one does not delay the next search. */
  function settleJob(name: string, intervalMs: number, find: Find, repair: Repair = settle): Job {
    const rests = new Rests({ firstPauseMs: againAfterMs, longestPauseMs: againAfterMs });

    async function findDue(): Promise<readonly string[]> {
      const page = { limit: BATCH, exceptIds: rests.current() };
      const lease = { ...READS_ALL_TEAMS, name, holder, dueAfterMs };
      const searching = withLease(query, lease, (run) =>
        sweep(run, (afterId) => find({ afterId, ...page }), page),
      );
      return (await searching) ?? [];
    }

    /** One that fails delays no other. */
    async function attempt(customerId: string): Promise<boolean> {
      try {
        if (await repair(customerId)) return true;
      } catch (err) {
        if (!canOthersSucceed(err)) throw err;
        logger.warn({ customerId, err }, 'plan of a team not written');
      }
      rests.begin(customerId);
      return false;
    }

    async function run(signal: AbortSignal): Promise<void> {
      const customerIds: string[] = [];
      for (const customerId of await findDue()) {
        if (signal.aborted) break;
        if (await attempt(customerId)) customerIds.push(customerId);
      }
      if (customerIds.length > 0) logger.info({ customerIds }, 'teams follow their customers');
    }
    return { name, intervalMs, run };
  }

  const rules = { planSelection, keepsPaused };
  return [
    settleJob('parked-events', 1_000, (page) => readCustomersOfParkedEvents(query, page)),
    settleJob('empty-teams', 1_000, (page) => readEmptyTeams(query, page)),
    settleJob('access-rules', 5_000, (page) => readCustomersOfOtherRules(query, rules, page)),
    settleJob(
      'plan-names',
      5_000,
      (page) => readNamelessCustomers(query, page),
      (customerId) => nameTeams(query, customerId, settle),
    ),
  ];
}

const WAITING_AFTER = () => `
        select customer_id
          from instep.customers
         where waiting is not null
           and ${isAfter('text', '$1::text', 'customer_id')}`;

const WITH_TEAM = ({ teams }: ApplicationTables) => `
        select customer_id
          from examined
         where customer_id <> all ($2::text[])
           and exists (
                 select from ${teams.rows} as teams where provider_customer_id = customer_id
               )
         limit $3`;

/** Those of the next customers with events that waited for a team who have one. Nearly all wait if products share an account. */
export async function readCustomersOfParkedEvents(
  query: Query,
  page: DuePage,
): Promise<Examined<string>> {
  const name = 'read_customers_of_parked_events';
  const search = { name, rows: WAITING_AFTER, key: 'customer_id', due: WITH_TEAM };
  return await findCustomers(query, search, page);
}

/** The next customers whose access was decided by other rules than these: the configuration has changed since. */
async function readCustomersOfOtherRules(
  query: Query,
  rules: AccessRules,
  { limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  const others = ALL_ACCESS_RULES.filter((text) => text !== accessRulesText(rules));
  return await readCustomerIds(query, {
    name: 'read_customers_of_other_rules',
    text: `
      select customer_id as "customerId"
        from instep.customers
       where access_rules = any ($1::text[])
         and customer_id <> all ($2::text[])
       limit $3`,
    values: [others, exceptIds, limit],
  });
}

/** The next customers whose plan lacks the name of its product, which is known by now. */
async function readNamelessCustomers(
  query: Query,
  { limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  return await readCustomerIds(query, {
    name: 'read_nameless_customers',
    text: `
      select customer_id as "customerId"
        from instep.customers
        join instep.products on product_id = provider_product_id
       where is_nameless
         and name is not null
         and customer_id <> all ($1::text[])
       limit $2`,
    values: [exceptIds, limit],
  });
}

/** For a statement that an index answers: it finds the first ones again, until they are repaired or left alone. */
async function readCustomerIds(
  query: Query,
  statement: NamedStatement,
): Promise<Examined<string, string>> {
  const rows = await query<{ customerId: string }>(statement);
  return { found: rows.map(({ customerId }) => customerId), examinedTo: null };
}

const isFromInstep = (plan: PlanInRow, state: CustomerState) =>
  planWriterOf(plan, state) === 'instep';

/** Writes the name of the plan to the teams of a customer, unless the application has written another plan. */
async function nameTeams(query: Query, customerId: string, settle: Settle): Promise<boolean> {
  const { names } = await readStates(query, [customerId]);
  return await settle(customerId, { cause: 'name', names, isReplaced: isFromInstep });
}
