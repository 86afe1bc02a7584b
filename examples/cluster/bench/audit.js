// What must be true at the end: every acknowledged event is stored once, and every team has the plan of its
// newest event with an effect.
import { TEAM_CUSTOMERS } from './load.js';

/** The audit reads all events. */
const AUDIT_TIMEOUT_MS = 30_000;

export async function addTeams(query) {
  await query(
    `insert into teams (name, provider_customer_id)
     select customer, customer from unnest($1::text[]) as customer`,
    [TEAM_CUSTOMERS],
  );
}

/**
 * @returns a line for each event that is not stored once, and for each wrong team
 */
export async function audit({ events, acknowledged }, query) {
  const logged = await query(
    'select event_id, count(*)::integer as count from instep.events group by event_id',
    [],
    AUDIT_TIMEOUT_MS,
  );
  const counts = new Map(logged.map(({ event_id, count }) => [event_id, count]));
  const lost = [...acknowledged].filter((id) => counts.get(id) !== 1);

  const teams = await query(
    `select provider_customer_id, provider_subscription_id, provider_product_id, subscription_status
       from teams`,
  );
  const wrong = teams.filter((team) => {
    const expected = expectedPlan(events, team.provider_customer_id);
    return Object.entries(expected).some(([column, value]) => team[column] !== value);
  });
  return {
    teams: teams.length,
    lost: lost.map((id) => `event ${id} is stored ${counts.get(id) ?? 0} times`),
    wrong: wrong.map((team) => `team ${JSON.stringify(team)}`),
  };
}

const GRANTING = ['active', 'trialing'];
const CLEARING = ['canceled', 'unpaid'];

function expectedPlan(events, customerId) {
  const newest = events.findLast(
    ({ data: { object } }) =>
      object.customer === customerId && [...GRANTING, ...CLEARING].includes(object.status),
  );
  if (newest === undefined) return {};
  const { id, status, items } = newest.data.object;
  const isGranted = GRANTING.includes(status);
  return {
    provider_subscription_id: isGranted ? id : null,
    provider_product_id: isGranted ? items.data[0].plan.product : null,
    subscription_status: status,
  };
}
