import { randomUUID } from 'node:crypto';
import { createLogger } from 'instep';
import type { Database } from '../internals/database.ts';
import {
  createLinkJob,
  type Ingest,
  IngestPipeline,
  type IngestPipelineOptions,
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
export function openPipeline(database: Database, retrieve: Retrieve = async () => null): Ingest {
  return openWholePipeline(database, { api: { retrieveProductName: retrieve } }).ingest;
}

/** Runs the job that links by the member `teamId` of metadata. */
export async function linkByMetadata(database: Database, logger = createLogger('silent')) {
  const { settle } = openWholePipeline(database);
  const options = { database, settle, logger, key: 'teamId', keyMode: 'test' } as const;
  await createLinkJob(options, randomUUID()).run(new AbortController().signal);
}
