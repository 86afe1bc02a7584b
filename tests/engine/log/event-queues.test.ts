import { DatabaseBusy } from 'instep-engine/postgres';
import { EventQueues } from 'instep-engine/src/log/event-queues.ts';
import { expect, onTestFinished, test, vi } from 'vitest';

type Event = { readonly customer: string };

const SIZE = 100;
const DEADLINE_MS = 2_000;
/** Longer than a batch can take. */
const SLOW_MS = DEADLINE_MS / 8;

/** Stores each batch in a moment, unless this says how it ends. */
function open(storeBatch: (events: readonly Event[]) => Promise<void>) {
  const batches: string[][] = [];
  const queues = new EventQueues<Event, string>({
    async store(events) {
      batches.push(events.map(({ customer }) => customer));
      await pauseFor(20);
      await storeBatch(events);
      return events.map(({ customer }) => customer);
    },
    customerOf: ({ customer }) => customer,
    deadlineMs: DEADLINE_MS,
    maxQueued: 10_000,
  });
  return { queues, batches };
}

const pauseFor = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function failIf(isFailing: boolean): Promise<void> {
  if (isFailing) throw new DatabaseBusy('it took too long');
}

const many = Array.from({ length: SIZE }, (_, index) => ({ customer: `cus_${index}` }));

test('a slow event fails alone, and the others of its batch are stored', async () => {
  const { queues } = open((events) => failIf(events.some(({ customer }) => customer === 'cus_50')));
  const settled = await Promise.allSettled(many.map((event) => queues.add(event)));
  expect(settled.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(queues.queued).toEqual({ ready: 0, blocked: 0 });
});

test.each(['fails', 'is slow'])(
  'the customers of a batch that %s have events of their own until one was fast',
  async (end) => {
    // A pause that takes longer on a busy machine would be a slow batch.
    vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    let areBatchesSlow = true;
    const { queues, batches } = open(async (events) => {
      if (!areBatchesSlow || events.length === 1) return;
      await (end === 'fails' ? failIf(true) : pauseFor(SLOW_MS));
    });
    const add = async () => {
      const added = ['first', 'a', 'b'].map((customer) => queues.add({ customer }));
      let areStored = false;
      const stored = Promise.all(added).then(() => {
        areStored = true;
      });
      // Not all that they wait for is a timer.
      while (!areStored) await vi.runAllTimersAsync();
      await stored;
    };
    await add();
    const alone = [['a'], ['b']];
    const tried = [['first'], ['a', 'b']];
    expect(batches).toEqual(end === 'fails' ? [...tried, ...alone] : tried);
    areBatchesSlow = false;
    batches.length = 0;
    await add();
    expect(batches).toEqual(end === 'fails' ? tried : [['first'], ...alone]);
    batches.length = 0;
    await add();
    expect(batches).toEqual(tried);
  },
);
