import { createHmac, createSecretKey } from 'node:crypto';
import type pg from 'pg';
import { createBatches } from './batches.ts';

type Received = {
  readonly body: Buffer;
  readonly customerId: string;
  readonly subscriptionId: string;
  readonly productId: string;
  readonly status: string;
};

/**
 * One statement is one transaction and one round trip. The bodies are sent as one byte string with their
 * offsets: `pg` writes an array of them as hexadecimal text of twice the length, which costs PostgreSQL twice
 * the time and the server 20% more.
 */
const STORE = `
  with logged as (
    insert into log (body)
    select substring($1::bytea from start for length)
      from unnest($2::integer[], $3::integer[]) as place (start, length)
  )
  update teams
     set provider_subscription_id = event.subscription_id,
         provider_product_id      = event.product_id,
         subscription_status      = event.status
    from unnest($4::text[], $5::text[], $6::text[], $7::text[])
      as event (customer_id, subscription_id, product_id, status)
   where provider_customer_id = event.customer_id`;

export function createEvents(pool: pg.Pool, secret: string) {
  const key = createSecretKey(secret, 'utf8');

  const store = createBatches<Received, true>(async (events) => {
    let end = 1;
    const starts = events.map(({ body }) => {
      const start = end;
      end += body.length;
      return start;
    });
    const values = [
      Buffer.concat(events.map(({ body }) => body)),
      starts,
      events.map(({ body }) => body.length),
      events.map(({ customerId }) => customerId),
      events.map(({ subscriptionId }) => subscriptionId),
      events.map(({ productId }) => productId),
      events.map(({ status }) => status),
    ];
    await pool.query({ name: 'store', text: STORE, values });
    return events.map(() => true);
  });

  return (body: Buffer, header: string, done: (isStored: boolean) => void): void => {
    const [, timestamp, signature] = /^t=(\d+),v1=(\w+)/.exec(header) ?? [];
    const mac = createHmac('sha256', key).update(`${timestamp}.`).update(body).digest('hex');
    if (mac !== signature) {
      done(false);
      return;
    }
    const { id, customer, status, items } = JSON.parse(body.toString()).data.object;
    const productId = items.data[0].plan.product;
    store({ body, customerId: customer, subscriptionId: id, productId, status }, (stored) =>
      done(stored !== null),
    );
  };
}
