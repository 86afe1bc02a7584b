import { createOverload, FAULT } from './overload.ts';

export const overloadOfProcessor = createOverload({
  fault: `${FAULT}; only the CPU limits the rate`,
  promise:
    'throughput stays the same, refused senders wait, profiles are answered, and memory ' +
    'stays bounded',
  burden: async () => undefined,
});
