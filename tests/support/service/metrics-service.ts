import { createLogger, listen, openInstep, readConfig } from 'instep';
import { signWebhook } from 'instep/testing';
import { afterAll } from 'vitest';
import { addTeam } from '../internals/rows.ts';
import { createDatabase } from '../postgres/test-database.ts';
import { SETTINGS } from '../process/instep-process.ts';
import { checkResponse } from '../secrets/leaks.ts';
import { HEADERS, WEBHOOK_SECRET } from '../secrets/test-secrets.ts';

/**
 * A server in the test's process with its own database, and its metrics. `reach` can put a proxy between
 * them.
 */
export async function openMetrics(
  environment: Readonly<Record<string, string>> = {},
  reach: (databaseUrl: URL) => Promise<URL> = async (url) => url,
) {
  const { url, database } = await createDatabase();
  const { href } = await reach(url);
  const config = readConfig({ ...SETTINGS, DATABASE_URL: href, ...environment });
  const logger = createLogger('silent');
  const instep = await openInstep({ config, logger });
  const metrics = await instep.startMetrics();
  const server = await listen({ ...config, handle: instep.handle, logger });
  afterAll(async () => {
    await server.close(1_000);
    await instep.close();
  });
  let count = 0;

  const service = {
    url: server.url,
    database,

    /** Every value, by name and labels as exposed. */
    async values(): Promise<ReadonlyMap<string, number>> {
      const text = await metrics.expose();
      checkResponse('/metrics', text);
      return valuesIn(text);
    },

    /** The value of this name and these labels. */
    value: async (series: string) => (await service.values()).get(series),

    post: (body: string, secret = WEBHOOK_SECRET, signedAtMs = Date.now()) =>
      fetch(`${server.url}/api/stripe/webhook`, {
        method: 'POST',
        body,
        headers: { ...HEADERS, 'stripe-signature': signWebhook(body, secret, signedAtMs) },
      }),

    /** A team that follows a new customer. */
    async addTeam() {
      count += 1;
      const customerId = `cus_metrics${count}`;
      const teamId = await addTeam(database.query, { name: 'Team', customerId });
      return { teamId, customerId };
    },
  };
  return service;
}

/** Every value in the Prometheus text format, by name and labels as exposed. */
export function valuesIn(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}
