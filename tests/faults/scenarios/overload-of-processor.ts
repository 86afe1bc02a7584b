import { createOverload, FAULT } from './overload.ts';

export const overloadOfProcessor = createOverload({
  fault: `${FAULT}; only the processor limits the rate`,
  promise:
    'the rate stays as before, refused senders wait, profiles are answered, and memory stays ' +
    'bounded',
  burden: async () => undefined,
});
