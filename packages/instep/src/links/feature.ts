import type { Feature } from 'instep-engine';
import { createLinkJob } from './link-by-metadata.ts';
import { LINKS_SCHEMA } from './schema.ts';

/** Links by metadata with this key (`LINK_BY_METADATA`); `null`: none. */
export const linksFeature = (key: string | null): Feature => ({
  ...LINKS_SCHEMA,
  jobs: (services, mode) =>
    key === null || mode === 'off' ? [] : [createLinkJob({ ...services, key }, services.nonce())],
});
