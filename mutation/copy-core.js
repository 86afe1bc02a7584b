// The core imports nothing, so it and its tests can be a separate project.
import { cpSync, rmSync } from 'node:fs';

for (const folder of ['packages/instep/src/core', 'tests/core']) {
  rmSync(folder, { recursive: true, force: true });
  cpSync(`../${folder}`, folder, { recursive: true });
}
