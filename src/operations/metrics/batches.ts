import type { IngestPipeline, OnBatch } from '../../ingest/pipeline.ts';
import type { Instruments } from './instruments.ts';

const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const BOUNDS_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** Measures the batches of events, and what waits for its turn. */
export function observeBatches(instruments: Instruments) {
  const sizes = instruments.histogram({
    name: 'instep_batch_events',
    help: 'How many events were applied at once, by lane.',
    labelNames: ['lane'],
    bounds: SIZES,
  });
  const durations = instruments.histogram({
    name: 'instep_batch_duration_seconds',
    help: 'How long it took to apply events at once, by lane.',
    labelNames: ['lane'],
    bounds: BOUNDS_SECONDS,
  });

  return {
    onBatch: ((lane, size, tookMs) => {
      sizes.with({ lane }).observe(size);
      durations.with({ lane }).observe(Math.max(0, tookMs) / 1_000);
    }) satisfies OnBatch,

    observeQueue(queued: IngestPipeline['queued']): void {
      instruments.gauge(
        {
          name: 'instep_queued_events',
          help: 'Events that wait for their turn, by lane; those in the lane held wait for a team that somebody else has locked.',
        },
        () => {
          const { free, held } = queued();
          return [
            { labels: { lane: 'free' }, value: free },
            { labels: { lane: 'held' }, value: held },
          ];
        },
      );
      instruments.gauge(
        {
          name: 'instep_queued_events_limit',
          help: 'As many may wait in the lane free before more are answered 503.',
        },
        () => [{ labels: {}, value: queued().limit }],
      );
    },
  };
}
