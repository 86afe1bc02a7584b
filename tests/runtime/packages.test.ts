import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { importOptional } from 'instep/src/runtime/packages.ts';
import { afterEach, expect, test, vi } from 'vitest';
import { createFolder } from '../support/process/instep-process.ts';

afterEach(() => vi.restoreAllMocks());

/** An app with this package. */
function createApp(name: string, code: string): void {
  const app = createFolder();
  const folder = join(app, 'node_modules', name);
  mkdirSync(folder, { recursive: true });
  const manifest = { name, type: 'module', exports: { '.': { default: './index.js' } } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'index.js'), code);
  vi.spyOn(process, 'cwd').mockReturnValue(app);
}

test('a package is found in the app', async () => {
  createApp('only-in-the-app', 'export const answer = 42;');
  expect(await importOptional('only-in-the-app')).toMatchObject({ answer: 42 });
});

test('a package that is installed nowhere is null', async () => {
  createApp('another', '');
  expect(await importOptional('installed-nowhere')).toBeNull();
});

test('a package that lacks a module of its own is an error, whatever its name', async () => {
  createApp('incomplete', "import 'incomplete-part';");
  await expect(importOptional('incomplete')).rejects.toThrow('incomplete-part');
});
