// The engine imports no package but `node:` and optional peers, so its rule and the rule's tests can be a separate project.
import { cpSync, rmSync } from 'node:fs';

rmSync('packages', { recursive: true, force: true });
rmSync('tests', { recursive: true, force: true });
for (const path of [
  'packages/engine/src',
  'tests/engine/rule',
  'tests/engine/support/events.ts',
  'tests/engine/support/permutations.ts',
  'tests/engine/support/tie-groups.ts',
  'tests/support/test-length.ts',
]) {
  cpSync(`../${path}`, path, { recursive: true });
}
