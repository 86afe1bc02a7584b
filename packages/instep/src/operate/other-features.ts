import type { OtherFeatures } from 'instep-operate';
import { readOtherPolicy } from '../access/team-access.ts';
import { findConsumers } from '../changes/consumers.ts';

/** What the features of this package do for operators. */
export const OTHER_FEATURES: OtherFeatures = {
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
