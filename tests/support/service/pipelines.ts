import { createLogger } from 'instep';
import type { Database } from '../internals/database.ts';
import {
  type Ingest,
  IngestPipeline,
  type IngestPipelineOptions,
  linksByMetadata,
} from '../internals/ingest.ts';

type Retrieve = (productId: string) => Promise<string | null>;

/** As `openPipeline`, with all that it offers. */
export function openWholePipeline(
  database: Database,
  options: Partial<IngestPipelineOptions> = {},
): IngestPipeline {
  return new IngestPipeline({
    database,
    api: { retrieveProductName: async () => null },
    logger: createLogger('silent'),
    planSelection: 'newest',
    maxQueued: 10_000,
    ...options,
  });
}

/** A pipeline like the server's, with its own cache of product names, and without names by default. */
export function openPipeline(
  database: Database,
  retrieve: Retrieve = async () => null,
  linkByMetadata: string | null = null,
): Ingest {
  const api = { retrieveProductName: retrieve };
  const onUnlinked = linksByMetadata({
    ...{ database, logger: createLogger('silent'), keyMode: null },
    ...{ key: linkByMetadata, deadlineMs: 60_000 },
  });
  return openWholePipeline(database, { api, onUnlinked }).ingest;
}
