// The core imports nothing, so that it and its tests make a project of their own.
import { cpSync, rmSync } from 'node:fs';

for (const folder of ['src/core', 'tests/core']) {
  rmSync(folder, { recursive: true, force: true });
  cpSync(`../${folder}`, folder, { recursive: true });
}
