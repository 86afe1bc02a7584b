// `instep-operate/feature`: what is needed before the first request. It loads little.

export { RefusalCounts, refusalsFeature } from './health/refusals.ts';
export { OPERATE_SCHEMA } from './health/schema.ts';
export { ROLES } from './operate/roles.ts';
