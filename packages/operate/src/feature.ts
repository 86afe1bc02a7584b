// `instep-operate/feature`: what is needed before the first request. It loads little.

export { RefusalCounts, refusalsFeature } from './issues/refusals.ts';
export { OPERATE_SCHEMA } from './issues/schema.ts';
export { ROLES } from './operate/roles.ts';
