// The schema `instep` as a whole: the engine's tables and those of the features.

import {
  checkSchema,
  ENGINE_MIGRATIONS,
  type FeatureSchema,
  type Query,
} from 'instep-engine/postgres';
import { OPERATE_SCHEMA } from 'instep-operate/feature';
import { ACCESS_SCHEMA } from '../access/access-view.ts';
import { CHANGES_SCHEMA } from '../changes/schema.ts';
import { LINKS_SCHEMA } from '../links/schema.ts';

/** What each feature has in the schema. */
export const FEATURE_SCHEMAS: readonly FeatureSchema[] = [
  ACCESS_SCHEMA,
  CHANGES_SCHEMA,
  LINKS_SCHEMA,
  OPERATE_SCHEMA,
];

/** All migrations, in the order in which they run. */
export const MIGRATIONS = [
  ENGINE_MIGRATIONS,
  ...FEATURE_SCHEMAS.map(({ migrations }) => migrations),
].flat();

/** @throws SchemaMismatch if the schema lacks a migration, or is that of a newer version */
export const checkWholeSchema = (query: Query) => checkSchema(query, MIGRATIONS);
