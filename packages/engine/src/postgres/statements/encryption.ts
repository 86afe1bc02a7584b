// Whether the connection to the database is encrypted, for the log at the start and the doctor.

import type { Query } from '../database.ts';

/** The protocol of the encryption, such as `TLSv1.3`; `null`: none, as the server sees the connection. */
export async function readEncryption(query: Query): Promise<string | null> {
  const [connection] = await query<{ version: string }>({
    name: 'read_encryption',
    text: 'select version from pg_stat_ssl where pid = pg_backend_pid() and ssl',
  });
  return connection?.version ?? null;
}
