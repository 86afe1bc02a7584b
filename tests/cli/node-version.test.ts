import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFolder } from '../support/process/instep-process.ts';
import { INSTEP, PROGRAM } from '../support/repository.ts';

/** What the command prints in a Node of this version, if nothing but its first file can be loaded. */
function startedBy(version: string): Promise<string> {
  const folder = createFolder();
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const program = join(folder, 'bin/instep.js');
  cpSync(PROGRAM, program);
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' });`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, program];
  return new Promise((resolve) => {
    execFile(process.execPath, args, (error, _stdout, stderr) => {
      expect(error).toMatchObject({ code: 1 });
      resolve(stderr);
    });
  });
}

const { engines } = JSON.parse(readFileSync(join(INSTEP, 'package.json'), 'utf8'));
const [major, minor] = engines.node.replace('>=', '').split('.').map(Number);

test.each([`${major}.${minor - 1}.9`, `${major - 2}.${minor + 1}.0`])(
  'Node %s is told that it is too old, before anything else is loaded',
  async (version) => {
    expect(await startedBy(version)).toBe(
      `instep: Node.js ${version} is too old: install ${major}.${minor} or newer\n`,
    );
  },
);
