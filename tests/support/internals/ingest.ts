// Names of the source that tests of several folders use: the only files that change when their modules move.

export { createLinkJob } from 'instep/src/links/link-by-metadata.ts';
export type { IngestResult, LogEvent } from 'instep-engine/src/log/log-event.ts';
export {
  type Ingest,
  IngestPipeline,
  type IngestPipelineOptions,
  type Settle,
} from 'instep-engine/src/log/pipeline.ts';
