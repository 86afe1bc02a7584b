import { defineConfig } from 'rolldown';

// The entries of package.json. The modules that they share go into `dist/chunks`: a process that loads a few files
// instead of 130 starts in two thirds of the time (docs/decisions/0019-load-few-packages.md).
export default defineConfig({
  input: {
    index: 'src/index.ts',
    'adapters/next': 'src/adapters/next.ts',
    'adapters/node': 'src/adapters/node.ts',
    'testing/index': 'src/testing/index.ts',
    'cli/instep': 'src/cli/instep.ts',
  },
  platform: 'node',
  external: /^[^./]/,
  tsconfig: 'tsconfig.build.json',
  output: { dir: 'dist', chunkFileNames: 'chunks/[name].js' },
});
