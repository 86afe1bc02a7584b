import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog, LogEvent } from 'instep-engine/log';
import type pg from 'pg';
import { sentEvent } from './engine-database.ts';

export const CUSTOMERS = Array.from({ length: 12 }, (_, index) => `cus_${index + 1}`);
const SUBSCRIPTIONS = ['a', 'b', 'c', 'd', 'e'];
const STATUSES = ['active', 'active', 'trialing', 'past_due', 'unpaid', 'canceled', 'paused'];

/** Remembers every change of a plan as it happened, and who made it. */
export const AUDIT = `
create table audit (id serial primary key, team_id int, is_app boolean, before text, after text);

create function audit() returns trigger language plpgsql as $$
begin
  insert into audit (team_id, is_app, before, after)
  values (new.id, coalesce(current_setting('test.is_app', true), '') = 'on',
          row(old.subscription_status, old.plan_name, old.stripe_product_id, old.stripe_subscription_id)::text,
          row(new.subscription_status, new.plan_name, new.stripe_product_id, new.stripe_subscription_id)::text);
  return new;
end
$$;

create trigger audit after update on teams for each row
  when ((old.subscription_status, old.plan_name, old.stripe_product_id, old.stripe_subscription_id)
        is distinct from
        (new.subscription_status, new.plan_name, new.stripe_product_id, new.stripe_subscription_id))
  execute function audit();`;

/** How often each event was sent, and how often it was acknowledged. */
export type Counts = { sent: number; acknowledged: number };

const pick = <Item>(items: readonly Item[]): Item => {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new RangeError('there is nothing to pick');
  return item;
};

/** Events of random customers: late ones, several in one second, and some that were sent before. */
function randomEvents(earlier: LogEvent[], startedAtMs: number): LogEvent[] {
  return Array.from({ length: 1 + Math.floor(Math.random() * 4) }, () => {
    if (earlier.length > 0 && Math.random() < 0.1) return pick(earlier);
    const customerId = pick(CUSTOMERS);
    // A second of Stripe passes in 50 ms.
    const seconds = 1_000 + Math.floor((Date.now() - startedAtMs) / 50);
    const event = sentEvent({
      customerId,
      subscriptionId: `sub_${customerId}_${pick(SUBSCRIPTIONS)}`,
      status: pick(STATUSES),
      createdSeconds: seconds - Math.floor(Math.random() ** 3 * 20),
      quantity: 1 + Math.floor(Math.random() * 5),
    });
    earlier.push(event);
    return event;
  });
}

/** Sends events until the end, and each of them again until it is acknowledged, as Stripe does. */
export async function sendEvents(
  log: Pick<EventLog, 'ingest'>,
  endMs: number,
  counts: Map<string, Counts>,
) {
  const startedAtMs = Date.now();
  const earlier: LogEvent[] = [];
  const errors = new Map<string, number>();
  while (Date.now() < endMs) {
    const events = randomEvents(earlier, startedAtMs);
    await Promise.all(
      events.map(async (event) => {
        const count = counts.get(event.key) ?? { sent: 0, acknowledged: 0 };
        counts.set(event.key, count);
        for (let isStored = false; !isStored; ) {
          count.sent += 1;
          isStored = await log.ingest([event]).then(
            () => true,
            (error: { code?: string; message: string }) => {
              const code = error.code ?? error.message;
              errors.set(code, (errors.get(code) ?? 0) + 1);
              return false;
            },
          );
          if (!isStored) await sleep(20);
        }
        count.acknowledged += 1;
      }),
    );
  }
  return errors;
}

/** Locks, renames and upgrades the same teams, and links those that have no customer yet. */
export async function useTeams(pool: pg.Pool, endMs: number): Promise<void> {
  while (Date.now() < endMs) {
    const client = await pool.connect();
    try {
      await client.query(`begin; set local test.is_app = 'on'`);
      const id = 1 + Math.floor(Math.random() * CUSTOMERS.length);
      const isUpgraded = Math.random() < 0.2;
      await client.query(
        `update teams set name = md5(random()::text)${isUpgraded ? ", plan_name = 'Upgraded'" : ''} where id = $1`,
        [id],
      );
      await sleep(5);
      await client.query(`update teams set stripe_customer_id = 'cus_' || id where id = $1`, [id]);
      await client.query('commit');
    } catch {
      // Its backend was killed.
    } finally {
      client.release(true);
    }
    await sleep(20);
  }
}

/** Ends backends while they write. Returns how many. */
export async function killBackends(pool: pg.Pool, endMs: number): Promise<number> {
  let killed = 0;
  while (Date.now() < endMs) {
    const { rowCount } = await pool.query(`
      select pg_terminate_backend(pid)
        from pg_stat_activity
       where datname = current_database()
         and pid <> pg_backend_pid()
         and state = 'active'
         and query like '%json_populate_recordset%'
       order by random()
       limit 1`);
    killed += rowCount ?? 0;
    // Few are active when it looks.
    await sleep(rowCount === 0 ? 10 : 300);
  }
  return killed;
}
