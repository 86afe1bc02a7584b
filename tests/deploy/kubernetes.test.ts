import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readConfig } from 'instep';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { SETTINGS } from '../support/process/instep-process.ts';
import { ROOT } from '../support/repository.ts';

const probe = v.object({ httpGet: v.object({ path: v.string(), port: v.string() }) });
const container = v.object({
  env: v.array(v.object({ name: v.string(), value: v.string() })),
  ports: v.array(v.object({ name: v.string(), containerPort: v.number() })),
  readinessProbe: probe,
  livenessProbe: probe,
});
const deployment = v.object({
  kind: v.literal('Deployment'),
  spec: v.object({
    template: v.object({
      spec: v.object({
        terminationGracePeriodSeconds: v.number(),
        containers: v.tuple([container]),
      }),
    }),
  }),
});

test('the manifest configures a server that Kubernetes leaves the time to stop', () => {
  const manifest = readFileSync(`${ROOT}/docs/deploy/kubernetes.yaml`, 'utf8');
  const [first] = parseAllDocuments(manifest);
  const { terminationGracePeriodSeconds, containers } = v.parse(deployment, first?.toJS()).spec
    .template.spec;
  const [{ env, ports, readinessProbe, livenessProbe }] = containers;
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const secrets = {
    DATABASE_URL: 'postgres://app@db/app',
    OPS_TOKEN: randomBytes(32).toString('hex'),
  };
  const { OPS_PORT: _, PORT: __, ...settings } = SETTINGS;
  // `readConfig` refuses what it does not know how to read.
  const config = readConfig({ ...settings, ...secrets, ...variables });
  const stopMs = config.shutdownDelayMs + config.shutdownDeadlineMs;
  expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(stopMs);
  expect(ports.map(({ containerPort }) => containerPort)).toEqual([3000, 3001]);
  expect([readinessProbe, livenessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
    '/readyz',
    '/healthz',
  ]);
});
