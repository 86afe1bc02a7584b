import type { SubscriptionEventFields } from 'instep/testing';
import { atEndOfFile } from '../end-of-file.ts';
import { addTeam } from '../internals/rows.ts';
import { startInstep } from '../process/instep-process.ts';
import { openAccount } from '../stripe/reconciled-account.ts';

/** A real server with its console, its own database and a stand-in for Stripe, until the end of the test file. */
export async function openBrowsedInstep(environment: Readonly<Record<string, string>> = {}) {
  const { database, happen, environment: own } = await openAccount();
  const server = await startInstep({ ...own, OPS_PORT: '0', ...environment });
  const { url } = await server.logged({ msg: 'operations listening' });
  atEndOfFile(server.stop);
  return {
    /** The address of the console. */
    url: String(url),
    database,
    addTeam: (name: string, customerId: string | null = null) =>
      addTeam(database.query, { name, customerId }),

    /** Changes a subscription at Stripe, and delivers the event. */
    async happen(fields: Partial<SubscriptionEventFields>): Promise<void> {
      const createdSeconds = Math.floor(Date.now() / 1_000);
      await happen({ createdSeconds, productId: 'prod_pro', ...fields });
    },
  };
}
