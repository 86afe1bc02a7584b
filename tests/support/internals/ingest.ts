// Names of the source that tests of several folders use: the only files that change when their modules move.

export {
  type Ingest,
  IngestPipeline,
  type IngestPipelineOptions,
  type Settle,
} from 'instep/src/ingest/pipeline.ts';
export type { IngestResult, ReceivedEvent } from 'instep/src/ingest/received-event.ts';
export { linksByMetadata } from 'instep/src/links/link-by-metadata.ts';
