// Gives teams the plan of a customer who had events before they were linked or created: the events that waited for a
// team get their outcome, and empty rows their plan.

import type { Settle } from '../log/pipeline.ts';
import type { Query } from '../postgres/database.ts';
import { type Examined, examine } from '../postgres/examine.ts';
import type { DuePage } from '../postgres/statements/teams.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { isAfter } from '../postgres/tables/id-from-text.ts';
import { type AccessRules, ALL_ACCESS_RULES, accessRulesText } from '../rule/access-facts.ts';
import type { Logger } from '../runtime/logging.ts';
import type { InTurn } from './lease.ts';
import { Repairs } from './repairs.ts';
import type { Job } from './worker.ts';

type SettleJobOptions = {
  readonly settle: Settle;
  readonly logger: Logger;
  /** Finds the customers that are due. */
  readonly find: (page: DuePage) => Promise<Examined<string, string | number>>;
  readonly inTurn?: InTurn;
  readonly againAfterMs?: number;
};

/** Settles the customers that are found. One that fails is left alone for a while, and delays no other. */
export function createSettleJob({
  settle,
  find,
  logger,
  ...options
}: SettleJobOptions): Job['run'] {
  const message = 'plan of a team not written';
  const repairs = new Repairs({ logger, subject: 'customerId', message, ...options });
  return async (signal) => {
    const settled: string[] = [];
    for (const customerId of await repairs.findDue(find)) {
      if (signal.aborted) break;
      if (await repairs.attempt(customerId, () => settle(customerId))) settled.push(customerId);
    }
    if (settled.length > 0) logger.info({ customerIds: settled }, 'teams follow their customers');
  };
}

/** The next customers whose access was decided by other rules than these: the configuration has changed since. */
export async function readCustomersOfOtherRules(
  query: Query,
  rules: AccessRules,
  { afterId, limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  const others = ALL_ACCESS_RULES.filter((text) => text !== accessRulesText(rules));
  const rows = await query<{ customerId: string }>({
    name: 'read_customers_of_other_rules',
    text: `
      select customer_id as "customerId"
        from instep.customers
       where access_rules = any ($1::text[])
         and ${isAfter('text', '$2::text', 'customer_id')}
         and customer_id <> all ($3::text[])
       order by customer_id
       limit $4`,
    values: [others, afterId, exceptIds, limit],
  });
  const found = rows.map(({ customerId }) => customerId);
  return { found, examinedTo: found.length < limit ? null : (found.at(-1) ?? null) };
}

/** How many customers one statement examines. If several products share a Stripe account, nearly all events are parked. */
const CUSTOMERS = 5_000;

const EXAMINED_CUSTOMERS = `
        select customer_id
          from instep.customers
         where waiting is not null
           and ${isAfter('text', '$1::text', 'customer_id')}
         order by customer_id
         limit ${CUSTOMERS}`;

const FIND_CUSTOMERS_WITH_TEAM = ({ teams }: ApplicationTables) => `found as (
        select customer_id as "customerId"
          from examined
         where customer_id <> all ($2::text[])
           and exists (
                 select from ${teams.rows} as teams where provider_customer_id = customer_id
               )
         limit $3
      )`;

/** Those of the next customers with events that waited for a team who have one. Some are left out. */
export async function readCustomersOfParkedEvents(
  query: Query,
  { afterId, limit, exceptIds }: DuePage,
): Promise<Examined<string, string>> {
  const { found, examinedTo } = await examine<{ customerId: string }, string>(query, {
    name: 'read_customers_of_parked_events',
    examined: () => EXAMINED_CUSTOMERS,
    key: 'customer_id',
    limit: CUSTOMERS,
    found: FIND_CUSTOMERS_WITH_TEAM,
    values: [afterId, exceptIds, limit],
  });
  return { found: found.map(({ customerId }) => customerId), examinedTo };
}
