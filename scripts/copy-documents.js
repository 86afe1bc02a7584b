// Runs before `npm pack`, in the folder of the package: copies what belongs to the whole repository into the package.
import { cpSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

for (const path of process.argv.slice(2)) {
  const stays = (file) => ['docs/img', 'docs/decisions'].some((one) => file.startsWith(ROOT + one));
  cpSync(`${ROOT}${path}`, path, { recursive: true, filter: (file) => !stays(file) });
}
