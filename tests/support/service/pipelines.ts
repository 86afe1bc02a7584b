import { type Ingest, IngestPipeline } from 'instep/src/ingest/pipeline.ts';
import type { Database } from 'instep/src/postgres/database.ts';
import { createLogger } from 'instep/src/runtime/logging.ts';

type Retrieve = (productId: string) => Promise<string | null>;

/** A pipeline like the server's, with its own cache of product names, and without names by default. */
export function openPipeline(
  database: Database,
  retrieve: Retrieve = async () => null,
  linkByMetadata: string | null = null,
): Ingest {
  return new IngestPipeline({
    database,
    api: { retrieveProductName: retrieve },
    logger: createLogger('silent'),
    planSelection: 'newest',
    linkByMetadata,
    maxQueued: 10_000,
  }).ingest;
}
