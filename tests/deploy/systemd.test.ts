import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder } from '../support/process/instep-process.ts';

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
