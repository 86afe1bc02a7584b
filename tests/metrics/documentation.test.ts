import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { useMetrics } from '../support/service/metrics-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');

const integer = v.pipe(v.number(), v.integer());
const width = v.pipe(integer, v.minValue(1), v.maxValue(24));
const place = v.object({ x: integer, y: integer, w: width, h: integer });
const target = v.object({ refId: v.string(), expr: v.string(), legendFormat: v.string() });
const panel = { id: integer, title: v.string(), gridPos: place };
const chartShape = v.object({
  ...panel,
  type: v.picklist(['stat', 'timeseries']),
  datasource: v.object({
    type: v.literal('prometheus'),
    uid: v.pipe(v.string(), v.regex(/^\$\{datasource\}$/)),
  }),
  targets: v.pipe(v.array(target), v.minLength(1)),
});
const dashboardShape = v.object({
  title: v.string(),
  schemaVersion: integer,
  templating: v.object({ list: v.array(v.object({ name: v.string(), type: v.string() })) }),
  panels: v.array(v.union([chartShape, v.object({ ...panel, type: v.literal('row') })])),
});

const page = readFileSync(join(DOCS, 'monitor.md'), 'utf8');
const rules = readFileSync(join(DOCS, 'alerts.yml'), 'utf8');
const alerts = [...rules.matchAll(/expr:(.*?)(?=\n +for:|\n +- alert:|\n$)/gs)].map(
  ([, expression = '']) => expression.replace('>-', ''),
);
const dashboard = v.parse(
  dashboardShape,
  JSON.parse(readFileSync(join(DOCS, 'grafana.json'), 'utf8')),
);
const charts = dashboard.panels.flatMap((panel) => ('targets' in panel ? [panel] : []));
const queries = charts.flatMap(({ targets }) => targets.map(({ expr }) => expr));

/** Labels that Prometheus and Grafana add themselves. */
const LABELS_OF_OTHERS = ['instance', 'le'];

const service = useMetrics();
let names: Set<string>;
let labels: Set<string>;
beforeAll(async () => {
  // Gives every metric a value.
  await service.post(eventBody());
  const series = await vi.waitFor(async () => {
    const values = [...(await service.values()).keys()];
    expect(values.some((one) => one.startsWith('instep_maintenance_'))).toBe(true);
    return values;
  }, 20_000);
  names = new Set(series.map((one) => one.replace(/\{.*/, '')));
  labels = new Set([
    ...series.flatMap((one) => [...one.matchAll(/[{,](\w+)="/g)].map(([, label = '']) => label)),
    ...LABELS_OF_OTHERS,
  ]);
});

/** The metrics and the labels that an expression names. */
function namesIn(expression: string): { metrics: string[]; labels: string[] } {
  const bare = expression.replace(/"[^"]*"/g, '""');
  const matchers = [...bare.matchAll(/(\w+) *(?:=~|!~|!=|=)""/g)];
  const groups = [...bare.matchAll(/\b(?:by|without) *\(([^)]*)\)/g)];
  const named = groups.flatMap(([, list = '']) => list.split(',').map((label) => label.trim()));
  const rest = bare.replace(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|without) *\([^)]*\)/g, ' ');
  const words = [...rest.matchAll(/[A-Za-z_]\w*(?! *\()\b/g)].map(([word]) => word);
  return {
    metrics: words.filter((word) => !['and', 'or', 'unless'].includes(word)),
    labels: [...matchers.map(([, label = '']) => label), ...named],
  };
}

describe.each([...alerts, ...queries])('%s', (expression) => {
  test('names only existing metrics and labels', () => {
    const named = namesIn(expression);
    expect(named.metrics.length).toBeGreaterThan(0);
    expect(named.metrics.filter((name) => !names.has(name))).toEqual([]);
    expect(named.labels.filter((label) => !labels.has(label))).toEqual([]);
  });
});

test('monitor.md lists exactly the metrics of Instep', () => {
  const documented = [...page.matchAll(/^\| `(instep_\w+)` \|/gm)].map(([, name]) => name);
  const ours = [...names].filter((name) => name.startsWith('instep_'));
  const parts = /_(?:bucket|sum|count)$/;
  expect(documented.sort()).toEqual(
    [...new Set(ours.map((name) => name.replace(parts, '')))].sort(),
  );
});
