#!/usr/bin/env node
// Old versions of Node have to read this file, and nothing else.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major > 20 || (major === 20 && minor >= 19)) {
  await import('../dist/cli/instep.js');
} else {
  process.stderr.write(
    `instep: Node.js ${process.versions.node} is too old: install 20.19 or newer\n`,
  );
  process.exitCode = 1;
}
