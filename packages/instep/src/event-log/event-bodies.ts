import type { Query } from '../postgres/database.ts';
import { columnArrays } from '../postgres/statement.ts';

type EventBody = { readonly position: number; readonly body: Uint8Array };

/** Some readable events of a customer after a position, in the order of arrival. */
export async function readBodiesOfCustomer(
  query: Query,
  customerId: string,
  { afterPosition, limit }: { readonly afterPosition: number; readonly limit: number },
): Promise<EventBody[]> {
  return await query<EventBody>({
    name: 'read_bodies_of_customer',
    text: `
      select position, body
        from instep.events
       where customer_id = $1
         and position > $2
         and outcome <> 'unreadable'
       order by position
       limit $3`,
    values: [customerId, afterPosition, limit],
  });
}

/** Replaces the bodies at these positions. Nothing else ever changes a body. */
export async function replaceBodies(query: Query, bodies: readonly EventBody[]): Promise<void> {
  await query({
    name: 'replace_bodies',
    text: `
      update instep.events as event
         set body = replaced.body
        from unnest($1::bigint[], $2::bytea[]) as replaced (position, body)
       where event.position = replaced.position`,
    values: columnArrays(bodies, 'position', 'body'),
  });
}
