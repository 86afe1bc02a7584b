import { defineConfig } from 'rolldown';

// The simulation and the benchmark run from the sources of the packages, each module in a file of its own, so that
// they find their neighbors by path.
const tools = {
  simulation: ['main.ts', 'core/core-thread.ts'],
  bench: ['main.ts', 'load/sender.ts', 'floor/server.ts', 'plain/server.ts', 'engine/compare.ts'],
};

const ours = /^(?:\.|\/|instep(?:-[a-z-]+)?(?:\/|$))/;

export default defineConfig(
  Object.entries(tools).map(([name, entries]) => ({
    input: entries.map((file) => `${name}/${file}`),
    platform: 'node',
    external: (specifier) => !ours.test(specifier),
    tsconfig: 'tsconfig.json',
    output: { dir: `${name}/dist`, preserveModules: true, preserveModulesRoot: '.' },
  })),
);
