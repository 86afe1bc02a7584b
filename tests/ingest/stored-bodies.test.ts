import { describe, expect, test } from 'vitest';
import { postgresServers } from '../support/postgres/test-database.ts';
import { useDatabase } from '../support/service/ingest-service.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { eventBody, received } from '../support/stripe/events.ts';

describe.each(postgresServers)('$name', (server) => {
  const store = useDatabase(server);

  test.each([
    ['NUL and half surrogate pairs', { metadata: { nul: '\0', half: '\ud800', other: '\udc00x' } }],
    ['characters of all UTF-8 lengths', { metadata: { text: 'ü€𝄞\u2028\u0085\u001b' } }],
    ['a customer that cannot be stored', { customer: 'cus_\0' }],
    ['numbers beyond the range of JavaScript', { big: 'NUMBER' }],
  ])('the body is stored byte for byte: %s', async (_, members) => {
    const ingest = openPipeline(store.database);
    const event = JSON.parse(eventBody({ eventId: 'evt_bytes', customerId: store.newCustomer() }));
    Object.assign(event.data.object, members);
    const text = JSON.stringify(event, null, 1).replace('"NUMBER"', '1e999, "dup": 1, "dup": 2');
    const body = `\n ${text.replaceAll('\n', '\r\n')}\t`;
    await ingest([received(body)]);
    const rows = await store.database.query<{ body: Buffer }>(
      `delete from instep.events where event_id = 'evt_bytes' returning body`,
    );
    expect(rows.map((row) => row.body.toString('hex'))).toEqual([
      Buffer.from(body).toString('hex'),
    ]);
  });
});
