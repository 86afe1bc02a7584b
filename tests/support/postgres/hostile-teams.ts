import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Query } from '../internals/database.ts';

/** PL/pgSQL can raise any of them, including those of PostgreSQL's own failures. */
const STATES = ['P0001', 'U0001', '55000', '42501', '40001', '57P01', 'XX000', '08006', '53300'];

/** Names of teams, which say what the application does whenever one of their rows is updated. */
export const HOSTILE_TEAMS = [
  ...STATES.map((state) => `raises ${state}`),
  ...['sleeps', 'waits', 'drops', 'lies'],
  ...['hidden', 'denied'],
];

/**
 * Creates the trigger and the policies of an application that is hostile to the teams with these names. Returns the
 * address of a role to which the policies apply.
 */
export async function makeHostile(query: Query, url: URL): Promise<URL> {
  const role = `app_${randomBytes(6).toString('hex')}`;
  // The role of the tests has the same name as the schema, so all of its tables are there.
  await query(`
    alter table users set schema public;
    alter table teams set schema public;
    create role ${role} login;
    grant usage on schema instep to ${role};
    grant select, insert, update, delete, truncate on all tables in schema instep to ${role};
    grant usage on all sequences in schema instep to ${role};
    grant select on users to ${role};
    grant select, update on teams to ${role};
    create policy readable on teams for select using (true);
    create policy writable on teams for update using (name <> 'hidden') with check (name <> 'denied');
    alter table teams enable row level security;
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
    create trigger be_hostile before update on teams for each row execute function be_hostile();
    alter table held set schema public;
    grant select, update on held to ${role}`);
  const asRole = new URL(url);
  asRole.searchParams.set('user', role);
  return asRole;
}

/** Whether the application is hostile at the moment. */
export async function setHostile(query: Query, isHostile: boolean): Promise<void> {
  const verb = isHostile ? 'enable' : 'disable';
  await query(`
    alter table teams ${verb} trigger be_hostile;
    alter table teams ${verb} row level security`);
}

/** Deletes the role of this address. */
export async function dropRole(query: Query, { searchParams }: URL): Promise<void> {
  const role = searchParams.get('user');
  await query(`drop owned by ${role}; drop role ${role}`);
}

/** Holds the lock for which some of these teams wait, until the returned function is called. */
export async function holdLock(url: URL): Promise<() => Promise<void>> {
  // An idle transaction of our own would be ended.
  const holder = new pg.Client({ connectionString: url.href });
  await holder.connect();
  await holder.query('begin; select from held for update');
  return () => holder.end();
}
