import type { Snapshot } from './snapshot.ts';

/** What answers `GET /metrics`. */
export type Exposition = {
  readonly contentType: string;
  /** All figures as Prometheus reads them, within some seconds. */
  expose(): Promise<string>;
};

/** Of several snapshots no two may have figures of the same name and labels. */
export function createExposition(snapshots: () => Promise<readonly Snapshot[]>): Exposition {
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    async expose() {
      // It takes long to load, and no start is to wait for it.
      const { AggregatorRegistry } = await import('prom-client');
      // It puts several together by an aggregator; without one it leaves some out.
      const metrics = (await snapshots()).map((snapshot) =>
        snapshot.map((metric) => ({ ...metric, aggregator: 'sum' })),
      );
      return await AggregatorRegistry.aggregate(metrics).metrics();
    },
  };
}
