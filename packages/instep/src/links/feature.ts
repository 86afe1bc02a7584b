import type { Feature } from 'instep-engine';
import { linksByMetadata } from './link-by-metadata.ts';
import { createLinkJob } from './link-waiting.ts';
import { LINKS_SCHEMA } from './schema.ts';

/** Links by metadata with this key (`LINK_BY_METADATA`); `null`: none. */
export const linksFeature = (key: string | null): Feature => ({
  ...LINKS_SCHEMA,
  ...(key !== null && {
    onUnlinked: (services) => linksByMetadata({ ...services, key }),
    jobs: ({ keyMode = null, ...services }, mode) =>
      mode === 'off' ? [] : [createLinkJob({ ...services, keyMode, key }, services.nonce())],
  }),
});
