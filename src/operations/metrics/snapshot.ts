import * as v from 'valibot';

const metricShape = v.object({
  name: v.string(),
  help: v.string(),
  type: v.string(),
  values: v.array(
    v.object({
      /** Other than the metric's, for the parts of a histogram. */
      metricName: v.optional(v.string()),
      labels: v.record(v.string(), v.union([v.string(), v.number()])),
      value: v.number(),
    }),
  ),
});

export const snapshotShape = v.array(metricShape);

/** A metric as it stands at one moment. */
export type Metric = Readonly<v.InferOutput<typeof metricShape>>;

/** All that a process has counted until now. It may go to another process. */
export type Snapshot = readonly Metric[];

/** The same figures, each with one more label. */
export function withLabel(snapshot: Snapshot, name: string, label: string): Snapshot {
  return snapshot.map((metric) => ({
    ...metric,
    values: metric.values.map((one) => ({ ...one, labels: { ...one.labels, [name]: label } })),
  }));
}
