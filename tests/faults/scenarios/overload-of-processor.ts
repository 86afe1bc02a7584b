import { createOverload, FAULT } from './overload.ts';

export const overloadOfProcessor = createOverload({
  fault: `${FAULT}; nothing but the processor bounds what it bears`,
  promise:
    'it bears as much as before, the others wait their turn, profiles are answered, memory stays',
  burden: async () => undefined,
});
