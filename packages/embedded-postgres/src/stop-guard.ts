import { type Connection, createClient, LOCK } from './presence-lock.ts';

/** Held by the one guard of a server. */
const GUARD_LOCK = '1768846452, 1936023925';

const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Stops the server when no process has held the presence lock for a second. It commits because the
 * snapshot of a long transaction would block `create index concurrently`.
 */
const STOP_WHEN_UNUSED = `do $$
  declare
    was_unused boolean := false;
  begin
    if not pg_try_advisory_lock(${GUARD_LOCK}) then
      return;
    end if;
    loop
      perform pg_sleep(1);
      commit;
      if not pg_try_advisory_lock(${LOCK}) then
        was_unused := false;
      elsif was_unused then
        exit;
      else
        perform pg_advisory_unlock(${LOCK});
        was_unused := true;
      end if;
    end loop;
    copy (select 1 where false) to program 'kill -INT $(head -n 1 postmaster.pid)';
  end
$$`;

/**
 * Makes sure that the server stops after its last process, however that ends: PostgreSQL completes a
 * statement whose client has gone. Without a free connection there is no guard.
 */
export async function startStopGuard(connection: Connection): Promise<void> {
  const { client, socket } = createClient(connection, {
    application_name: 'instep stop guard',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  try {
    await client.connect();
  } catch {
    socket.destroy();
    return;
  }
  socket.unref();
  client.query(STOP_WHEN_UNUSED).then(
    () => client.end(),
    () => socket.destroy(),
  );
}
