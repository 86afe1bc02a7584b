// The rule, its tests and the simulation of its level `core` need no database, so they can be a separate project.
import { cpSync, rmSync } from 'node:fs';

for (const folder of ['packages', 'tests', 'simulation']) {
  rmSync(folder, { recursive: true, force: true });
}
for (const path of [
  'packages/engine/src',
  'simulation',
  'tests/engine/rule',
  'tests/engine/support/events.ts',
  'tests/engine/support/permutations.ts',
  'tests/engine/support/tie-groups.ts',
  'tests/simulation/core-level.test.ts',
  'tests/support/test-length.ts',
]) {
  cpSync(`../${path}`, path, { recursive: true });
}
