// The compiler copies neither SQL nor styles: they go beside the code that reads them.
import { cpSync } from 'node:fs';

for (const folder of ['database/migrations', 'console/assets']) {
  cpSync(`src/${folder}`, `dist/${folder}`, { recursive: true });
}
