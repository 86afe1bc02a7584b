import { isAbsolute } from 'node:path';
import { defineConfig } from 'rolldown';

/** Packages from npm, and each other's, stay imports. */
const external = (name) => !name.startsWith('.') && !isAbsolute(name);

// The entries of each package.json. The modules that they share go into `dist/chunks`: a process that loads a few files
// instead of 130 starts in two thirds of the time.
const libraries = {
  engine: {
    index: 'index.ts',
    'http/index': 'http/index.ts',
    'log/index': 'log/index.ts',
    'postgres/index': 'postgres/index.ts',
    'repair/index': 'repair/index.ts',
    'rule/index': 'rule/index.ts',
    'runtime/index': 'runtime/index.ts',
    'stripe/index': 'stripe/index.ts',
  },
  operate: {
    index: 'index.ts',
    feature: 'feature.ts',
    host: 'host.ts',
    'metrics/metrics': 'metrics/metrics.ts',
    'operators-listener/operators-listener': 'operators-listener/operators-listener.ts',
  },
  instep: {
    index: 'index.ts',
    'adapters/next': 'adapters/next.ts',
    'adapters/node': 'adapters/node.ts',
    'operate/index': 'operate/index.ts',
    'testing/index': 'testing/index.ts',
    'cli/instep': 'cli/instep.ts',
    'cli/setup': 'cli/setup.ts',
  },
  console: { index: 'index.ts' },
  'create-instep': { index: 'index.ts' },
  'embedded-postgres': { index: 'index.ts' },
};

export default defineConfig(
  Object.entries(libraries).map(([name, entries]) => ({
    input: Object.fromEntries(
      Object.entries(entries).map(([entry, file]) => [entry, `packages/${name}/src/${file}`]),
    ),
    platform: 'node',
    external,
    tsconfig: `packages/${name}/tsconfig.build.json`,
    output: { dir: `packages/${name}/dist`, chunkFileNames: 'chunks/[name].js' },
  })),
);
