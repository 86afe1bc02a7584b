// Apps whose tables Instep and its audit recognize, written after the column names of public starters: one file each.

import { readFileSync } from 'node:fs';

export const SCHEMAS = ['saas-starter', 'prisma', 'better-auth', 'supabase', 'django'] as const;

export type Schema = (typeof SCHEMAS)[number];

/** The statements that create an app's tables, without rows. */
export const schemaSql = (schema: Schema) =>
  readFileSync(new URL(`${schema}.sql`, import.meta.url), 'utf8');
