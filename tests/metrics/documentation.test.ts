import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { ROOT } from '../support/repository.ts';
import { openMetrics } from '../support/service/metrics-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const textOf = (name: string) => readFileSync(join(ROOT, 'docs', name), 'utf8');

/** The expressions of the alerts and of the dashboard. */
const EXPRESSIONS = [
  ...textOf('alerts.yml').matchAll(/expr:(.*?)(?=\n +for:|\n +- alert:|\n$)/gs),
  ...textOf('grafana.json').matchAll(/"expr": "(.*)"/g),
].map(([, expression = '']) => expression.replace('>-', '').replaceAll('\\"', '"'));

/** Labels that Prometheus and Grafana add themselves. */
const LABELS_OF_OTHERS = ['instance', 'le'];

const service = await openMetrics();

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

test('the alerts and the dashboard name only existing metrics and labels, and the page lists all metrics', async () => {
  // Gives every metric a value.
  await service.post(eventBody());
  const series = await vi.waitFor(async () => {
    const values = [...(await service.values()).keys()];
    expect(values.some((one) => one.startsWith('instep_maintenance_'))).toBe(true);
    return values;
  }, 20_000);
  const metrics = new Set(series.map((one) => one.replace(/\{.*/, '')));
  const labels = series.flatMap((one) =>
    [...one.matchAll(/[{,](\w+)="/g)].map(([, label = '']) => label),
  );
  expect(EXPRESSIONS.length).toBeGreaterThan(20);
  for (const expression of EXPRESSIONS) {
    const named = namesIn(expression);
    expect(named.metrics, expression).not.toEqual([]);
    expect([...metrics], expression).toEqual(expect.arrayContaining(named.metrics));
    expect([...labels, ...LABELS_OF_OTHERS]).toEqual(expect.arrayContaining(named.labels));
  }
  const listed = [...textOf('monitor.md').matchAll(/^\| `(instep_\w+)` \|/gm)].map(
    ([, name]) => name,
  );
  const ours = [...metrics].filter((name) => name.startsWith('instep_'));
  const bases = new Set(ours.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
  expect(new Set(listed)).toEqual(bases);
});
