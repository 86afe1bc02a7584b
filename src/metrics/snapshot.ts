import { z } from 'zod';

const metricShape = z.object({
  name: z.string(),
  help: z.string(),
  type: z.string(),
  values: z.array(
    z.object({
      /** Other than the metric's, for the parts of a histogram. */
      metricName: z.string().optional(),
      labels: z.record(z.string(), z.union([z.string(), z.number()])),
      value: z.number(),
    }),
  ),
});

export const snapshotShape = z.array(metricShape);

/** A metric as it stands at one moment. */
export type Metric = Readonly<z.infer<typeof metricShape>>;

/** All that a process has counted until now. It may go to another process. */
export type Snapshot = readonly Metric[];

/** The same figures, each with one more label. */
export function withLabel(snapshot: Snapshot, name: string, label: string): Snapshot {
  return snapshot.map((metric) => ({
    ...metric,
    values: metric.values.map((one) => ({ ...one, labels: { ...one.labels, [name]: label } })),
  }));
}
