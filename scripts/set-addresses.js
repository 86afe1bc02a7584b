// Writes `repository`, `bugs` and `homepage` into each package before it is published. The repository does not know its own
// address: GitHub's workflows do. The argument is the address of the website.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
const [homepage] = process.argv.slice(2);
if (!GITHUB_SERVER_URL || !GITHUB_REPOSITORY || !homepage) {
  throw new Error(
    'set GITHUB_SERVER_URL and GITHUB_REPOSITORY, and pass the address of the website',
  );
}

const url = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
for (const folder of readdirSync(`${ROOT}packages`)) {
  const path = `${ROOT}packages/${folder}/package.json`;
  const manifest = JSON.parse(readFileSync(path, 'utf8'));
  // The page of `instep` is the repository's README, whose links begin at the root.
  const directory = manifest.name === 'instep' ? {} : { directory: `packages/${folder}` };
  manifest.repository = { type: 'git', url: `git+${url}.git`, ...directory };
  manifest.bugs = { url: `${url}/issues` };
  manifest.homepage = homepage;
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}
