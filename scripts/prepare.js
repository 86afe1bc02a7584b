// Runs after npm install in a clone: builds if the compiler is installed. Without the development
// dependencies an existing build stays.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (existsSync('node_modules/typescript')) {
  const { status } = spawnSync('npm', ['run', 'build'], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
} else if (!existsSync('dist')) {
  process.stderr.write('Not built: the development dependencies are missing. Run npm ci first.\n');
}
