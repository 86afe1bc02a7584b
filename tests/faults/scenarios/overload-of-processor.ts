import { createOverload, FAULT } from './overload.ts';

export const overloadOfProcessor = createOverload({
  fault: `${FAULT}; only the CPU limits the rate`,
  promise:
    'throughput stays the same, senders of refused events are slowed down, profile requests are ' +
    'still answered, and memory stays bounded',
  burden: async () => undefined,
});
