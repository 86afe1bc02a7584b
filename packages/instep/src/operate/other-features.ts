import type { OtherFeatures } from 'instep-operate';
import { readOtherPolicy } from '../access/team-access.ts';
import { findConsumers } from '../changes/consumers.ts';

/** What the features of this package do for operators. */
export const OTHER_FEATURES: OtherFeatures = {
  readOtherPolicy,
  readConsumers: (query) => findConsumers({ database: { query } }),
};
