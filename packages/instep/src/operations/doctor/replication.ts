import {
  type Ask,
  type ReplicationState,
  readReplicationState,
} from '../../postgres/one-server.ts';

/** The replication state of a server, whether primary or standby. */
export type Replication = ReplicationState & {
  /** When it started, which identifies it: with poolers, several hosts can lead to one server. */
  readonly startedAt: string;
  /** The position in the write-ahead log, in bytes, that it has written or, as a standby, replayed. */
  readonly positionBytes: number;
  /** `synchronous_standby_names`; empty when commits wait for no standby. */
  readonly synchronousNames: string;
  /** The number of standbys that are connected, and of those for which commits wait. */
  readonly standbys: number;
  readonly synchronousStandbys: number;
  /** Whether the role can see which standbys those are. */
  readonly seesStandbys: boolean;
  /** In the syntax of `grant`. */
  readonly role: string;
};

const READ_REPLICATION = `
  select pg_postmaster_start_time()::text as "startedAt",
         (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end
           - '0/0')::double precision as "positionBytes",
         current_setting('synchronous_standby_names') as "synchronousNames",
         (select count(*)::integer from pg_stat_replication) as standbys,
         (select count(*)::integer
            from pg_stat_replication
           where sync_state in ('sync', 'quorum')) as "synchronousStandbys",
         pg_has_role('pg_read_all_stats', 'usage') as "seesStandbys",
         quote_ident(current_user) as role`;

export async function readReplication(ask: Ask): Promise<Replication> {
  const state = await readReplicationState(async (text) => (await ask<ReplicationState>(text))[0]);
  const [row] = await ask<Omit<Replication, keyof ReplicationState>>(READ_REPLICATION);
  if (row === undefined) throw new RangeError('a select without tables has one row');
  return { ...state, ...row };
}
