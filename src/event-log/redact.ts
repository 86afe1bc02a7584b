import type { Query } from '../postgres/database.ts';
import { readBodiesOfCustomer, replaceBodies } from '../queries/event-bodies.ts';
import { redactBody } from '../stripe/redact-body.ts';

const PAGE = 200;

/**
 * Removes personal texts from all logged events of a customer. It changes no team, now or later: what
 * decides stays, and keys still recognize duplicates. Unreadable events name no customer, so they
 * stay until they are pruned. Returns the number of events.
 */
export async function redactEvents(
  query: Query,
  customerId: string,
  pseudonymOf: (text: string) => string,
): Promise<number> {
  let count = 0;
  for (let afterPosition = 0; ; ) {
    const page = await readBodiesOfCustomer(query, customerId, { afterPosition, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return count;
    await replaceBodies(
      query,
      page.map(({ position, body }) => ({ position, body: redactBody(body, pseudonymOf) })),
    );
    count += page.length;
    afterPosition = last.position;
  }
}
