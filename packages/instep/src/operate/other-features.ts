import type { OtherFeatures } from 'instep-operate';
import { readOtherPolicy } from '../access/team-access.ts';
import { findConsumers, removeConsumer, replayChange } from '../changes/consumers.ts';
import { completeCheckout, syncCustomer } from '../checkout/checkout.ts';

/** What the features of this package do for operators. */
export const OTHER_FEATURES: OtherFeatures = {
  completeCheckout,
  syncCustomer,
  removeConsumer,
  replayChange,
  readOtherPolicy,
  async readConsumers(query) {
    const consumers = await findConsumers({ database: { query } });
    return consumers.map(({ name, behindSince, setAsideCount }) => ({
      name,
      behindSinceMs: behindSince?.getTime() ?? null,
      setAside: setAsideCount,
    }));
  },
};
