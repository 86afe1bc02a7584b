import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from 'instep';
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createFolder, SETTINGS } from '../support/process/instep-process.ts';
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

const DEPLOY = join(import.meta.dirname, '../../docs/deploy');
const UNIT = join(DEPLOY, 'instep.service');

/** On a scale of 0 to 10: 9 and above is "unsafe", below 2 is "OK". */
const MAX_EXPOSURE = 2;

const { error } = spawnSync('systemd-analyze', ['--version']);

test.skipIf(error !== undefined)('systemd-analyze accepts the unit (needs systemd)', () => {
  const folder = createFolder();
  const unit = readFileSync(UNIT, 'utf8').replace('/usr/bin/node', process.execPath);
  const path = join(folder, 'instep.service');
  writeFileSync(path, unit);
  writeFileSync(join(folder, 'instep@.service'), unit);
  mkdirSync(join(folder, 'instep@.service.d'));
  cpSync(join(DEPLOY, 'instances.conf'), join(folder, 'instep@.service.d/instances.conf'));
  for (const name of ['instep.service', 'instep@1.service']) {
    const verify = ['verify', '--man=no', join(folder, name)];
    const verified = spawnSync('systemd-analyze', verify, { encoding: 'utf8' });
    expect({ status: verified.status, stderr: verified.stderr }).toEqual({ status: 0, stderr: '' });
  }

  const security = ['security', '--offline=true', `--threshold=${MAX_EXPOSURE * 10}`, path];
  execFileSync('systemd-analyze', security, { stdio: 'pipe' });
});
