// Runs after npm install in a clone, and at npm start without a build: builds if the development dependencies
// are installed. Otherwise an existing build stays. TypeScript alone does not show that they are installed,
// because it is also an optional peer of valibot.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (existsSync('node_modules/@types/node')) {
  const { status } = spawnSync('npm', ['run', 'build'], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
} else if (!existsSync('packages/instep/dist')) {
  process.stderr.write(
    'Instep is not built, and the development dependencies that build it are missing.\n' +
      'Run npm ci. To remove them again, run npm prune --omit=dev.\n',
  );
}
