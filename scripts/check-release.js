// Checks that a tag such as v1.2.3 can be released: `node scripts/check-release.js v1.2.3`.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [tag] = process.argv.slice(2);
const read = (path) => readFileSync(`${ROOT}${path}`, 'utf8');

const problems = [];
for (const folder of readdirSync(`${ROOT}packages`)) {
  const { name, version } = JSON.parse(read(`packages/${folder}/package.json`));
  if (tag !== `v${version}`) problems.push(`the tag is ${tag}, but ${name} is version ${version}`);
}
const dated = read('CHANGELOG.md').match(/^## \[(.+)\] - \d{4}-\d\d-\d\d$/m);
if (tag !== `v${dated?.[1]}`) {
  problems.push(`the newest dated section of CHANGELOG.md is ${dated?.[1] ?? 'missing'}`);
}
if (/@instep\.example/.test(read('.github/CODEOWNERS'))) {
  problems.push('.github/CODEOWNERS names no account: put the maintainers there');
}

for (const problem of problems) process.stderr.write(`check-release: ${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
