// node scripts/copy-assets.js DIRECTORY: the compiler copies neither SQL nor styles, so they are
// copied beside the compiled code that reads them.
import { cpSync } from 'node:fs';

const [target = 'dist'] = process.argv.slice(2);

for (const folder of ['postgres/migrations', 'operations/console/assets']) {
  cpSync(`src/${folder}`, `${target}/${folder}`, { recursive: true });
}
