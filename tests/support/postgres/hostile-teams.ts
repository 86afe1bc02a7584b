import type { Query } from 'instep/src/postgres/database.ts';
import pg from 'pg';

/** PL/pgSQL can raise any of them, including those of PostgreSQL's own failures. */
const STATES = ['P0001', 'U0001', '55000', '42501', '40001', '57P01', 'XX000', '08006', '53300'];

/** Names of teams, which say what the application does whenever one of their rows is updated. */
export const HOSTILE_TEAMS = [
  ...STATES.map((state) => `raises ${state}`),
  ...['sleeps', 'waits', 'drops', 'lies'],
];

/** Creates the trigger of an application that is hostile to the teams with these names. */
export async function createHostileTrigger(query: Query): Promise<void> {
  await query(`
    create table held (id int primary key);
    insert into held values (1);
    create function be_hostile() returns trigger language plpgsql as $$
    begin
      case split_part(new.name, ' ', 1)
        when 'raises' then raise exception 'no' using errcode = split_part(new.name, ' ', 2);
        when 'sleeps' then perform pg_sleep(30);
        when 'waits' then perform from held for update;
        when 'drops' then return null;
        when 'lies' then new.plan_name = 'Free';
        else null;
      end case;
      return new;
    end $$;
    create trigger be_hostile before update on teams for each row execute function be_hostile()`);
}

/** Holds the lock for which some of these teams wait, until the returned function is called. */
export async function holdLock(url: URL): Promise<() => Promise<void>> {
  // An idle transaction of our own would be ended.
  const holder = new pg.Client({ connectionString: url.href });
  await holder.connect();
  await holder.query('begin; select from held for update');
  return () => holder.end();
}
