import * as v from 'valibot';

export const snapshotShape = v.array(
  v.object({ comments: v.string(), lines: v.array(v.string()) }),
);

/** Metrics at one moment, in the text format of Prometheus. It can be sent to another process. */
export type Snapshot = Readonly<v.InferOutput<typeof snapshotShape>>;

export type Metric = Snapshot[number];

/** The response of `GET /metrics`. */
export type Exposition = {
  readonly contentType: string;
  /** All metrics, within a few seconds. */
  expose(): Promise<string>;
};

/** All lines of one metric must be adjacent, whichever snapshot they are from. */
export function createExposition(snapshots: () => Promise<readonly Snapshot[]>): Exposition {
  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    async expose() {
      const linesOf = new Map<string, string[]>();
      for (const { comments, lines } of (await snapshots()).flat()) {
        linesOf.set(comments, [...(linesOf.get(comments) ?? []), ...lines]);
      }
      const all = [...linesOf].flatMap(([comments, lines]) => [comments, ...lines]);
      return `${all.join('\n')}\n`;
    },
  };
}

export function metric(name: string, help: string, type: string, lines: string[]): Metric {
  return { comments: `# HELP ${name} ${help}\n# TYPE ${name} ${type}`, lines };
}

/** `name{label="value"} 1` */
export function line(name: string, labels: Readonly<Record<string, string>>, value: number) {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`,
  );
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
}
