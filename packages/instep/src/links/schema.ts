import type { FeatureSchema } from 'instep-engine/postgres';

/** The lease of the job that links those who wait. */
export const LINKS_SCHEMA: FeatureSchema = {
  name: 'links',
  migrations: [
    {
      owner: 'links',
      version: 1,
      name: '0001_links',
      compatibleFrom: 1,
      sql: `
insert into instep.leased_jobs (name)
values ('link-by-metadata');
`,
    },
  ],
};
