import type { Feature } from 'instep-engine';
import type { AccessPolicy } from '../config/config.ts';
import { ACCESS_SCHEMA } from './access-view.ts';
import { reportOtherPolicy, storePolicy } from './team-access.ts';

const MINUTE_MS = 60_000;

/** What a plan means to the app, by this policy (docs/access.md). */
export const accessFeature = (policy: AccessPolicy): Feature => ({
  ...ACCESS_SCHEMA,
  start: ({ database: { query }, logger }) =>
    storePolicy(query, policy).catch((err) =>
      logger.warn({ err }, 'the access policy was not stored'),
    ),
  jobs({ database: { query } }, mode) {
    // On demand, nothing tells when the app stops.
    if (mode !== 'background') return [];
    const run = () => reportOtherPolicy(query, policy);
    return [{ name: 'access-policy', intervalMs: MINUTE_MS, run }];
  },
});
