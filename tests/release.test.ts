import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createFolder } from './support/process/instep-process.ts';
import { ROOT } from './support/repository.ts';

const run = promisify(execFile);

/** A copy of what the scripts of a release read and write. */
function copyRepository(): string {
  const copy = createFolder();
  const folders = readdirSync(join(ROOT, 'packages'));
  const manifests = folders.map((folder) => `packages/${folder}/package.json`);
  for (const path of [...manifests, 'scripts', 'CHANGELOG.md', '.github/CODEOWNERS']) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  writeFileSync(join(copy, 'package.json'), '{"type":"module"}');
  return copy;
}

test('a release needs the version, its date in the changelog, and the accounts of the owners', async () => {
  const copy = copyRepository();
  const check = (tag: string) =>
    run(process.execPath, ['scripts/check-release.js', tag], { cwd: copy }).then(
      () => '',
      ({ stderr }: { stderr: string }) => stderr,
    );
  const { version } = JSON.parse(readFileSync(join(copy, 'packages/instep/package.json'), 'utf8'));
  writeFileSync(join(copy, 'CHANGELOG.md'), `## [Unreleased]\n\n## [${version}] - not dated\n`);
  writeFileSync(join(copy, '.github/CODEOWNERS'), '* maintainers@instep.example\n');
  const packages = readdirSync(join(copy, 'packages')).length;
  expect((await check('v99.0.0')).match(/^check-release: /gm)).toHaveLength(packages + 2);
  writeFileSync(join(copy, 'CHANGELOG.md'), `## [Unreleased]\n\n## [${version}] - 2026-12-01\n`);
  expect(await check(`v${version}`)).toMatch(/^check-release: .*CODEOWNERS.*\n$/);
  writeFileSync(join(copy, '.github/CODEOWNERS'), '* @somebody\n');
  expect(await check(`v${version}`)).toBe('');
});

test('every package is published with the addresses of its repository', async () => {
  const copy = copyRepository();
  const env = { GITHUB_SERVER_URL: 'https://example.com', GITHUB_REPOSITORY: 'owner/name' };
  await run(process.execPath, ['scripts/set-addresses.js', 'https://site.example.com/'], {
    cwd: copy,
    env,
  });
  for (const folder of readdirSync(join(copy, 'packages'))) {
    const manifest = readFileSync(join(copy, 'packages', folder, 'package.json'), 'utf8');
    expect(JSON.parse(manifest)).toMatchObject({
      repository: { type: 'git', url: 'git+https://example.com/owner/name.git' },
      bugs: { url: 'https://example.com/owner/name/issues' },
      homepage: 'https://site.example.com/',
    });
  }
});
