import { EventQueues, type Stored } from 'instep/src/ingest/event-queues.ts';
import { DatabaseBusy } from 'instep/src/postgres/errors.ts';
import { expect, test } from 'vitest';

type Event = { customer: string };

const SIZE = 100;

/** Stores each batch in no time, except one that has an event of these customers. */
function open(fails: (events: readonly Event[]) => boolean) {
  const batches: string[][] = [];
  const queues = new EventQueues<Event, string>({
    async store(events): Promise<Stored<string>> {
      batches.push(events.map(({ customer }) => customer));
      await new Promise((resolve) => setTimeout(resolve, 20));
      if (fails(events)) throw new DatabaseBusy('it took too long');
      return { results: events.map(({ customer }) => customer), tookMs: 1 };
    },
    customerOf: ({ customer }) => customer,
    deadlineMs: 2_000,
    maxQueued: 10_000,
    onBlocked: () => undefined,
    onAttempt: () => undefined,
  });
  return { queues, batches };
}

const many = Array.from({ length: SIZE }, (_, index) => ({ customer: `cus_${index}` }));

test('a stall that one event caused does not change the limit of the queue', async () => {
  const { queues } = open((events) => events.some(({ customer }) => customer === 'cus_50'));
  const { limit } = queues.queued;
  const settled = await Promise.allSettled(many.map((event) => queues.add(event)));
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(queues.queued).toEqual({ ready: 0, blocked: 0, limit });
});

test('a batch that times out because it is large lowers the limit of the queue', async () => {
  const { queues } = open((events) => events.length > SIZE / 2);
  const { limit } = queues.queued;
  await Promise.all(many.map((event) => queues.add(event)));
  expect(queues.queued.limit).not.toBe(limit);
});

test('the customers of a slow batch have events of their own until one was fast', async () => {
  const { queues, batches } = open((events) => events.length > 1 && batches.length < 3);
  const add = () => Promise.all(['first', 'a', 'b'].map((customer) => queues.add({ customer })));
  await add();
  expect(batches.slice(0, 2)).toEqual([['first'], ['a', 'b']]);
  expect(batches.slice(2)).toEqual([['a'], ['b']]);
  batches.length = 0;
  await add();
  expect(batches).toEqual([['first'], ['a', 'b'], ['a'], ['b']]);
});
