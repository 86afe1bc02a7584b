import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { INSTEP, ROOT } from './support/repository.ts';

const pages = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** The TypeScript modules on the pages. A part of a file, such as a property, is not a module. */
const modules = pages.flatMap((page) =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```ts\n(.*?)^```/gms)]
    .map(([, code = '']) => ({ page, code }))
    .filter(({ code }) => /^(?:import|export) /m.test(code)),
);

const settings = {
  extends: join(ROOT, 'tsconfig.json'),
  files: modules
    .map((_, index) => `snippet-${index}.ts`)
    .concat(join(INSTEP, 'src/adapters/next-server.d.ts'), 'fastify.d.ts'),
};

/** What a page extends of a framework that only the examples install. */
const FASTIFY = `declare module 'fastify' {
  interface FastifyInstance {}
}`;

test('every TypeScript module on a page compiles', async () => {
  expect(modules.length).toBeGreaterThan(5);
  // Below the root, so that packages are found.
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.snippets-'));
  try {
    for (const [index, { page, code }] of modules.entries()) {
      writeFileSync(join(folder, `snippet-${index}.ts`), `// ${page}\n${code}`);
    }
    writeFileSync(join(folder, 'fastify.d.ts'), FASTIFY);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    // A failure shows the compiler's output.
    await promisify(execFile)(tsc, ['-p', folder, '--noEmit']).catch((error) => {
      throw new Error(`${error.stdout}\n${JSON.stringify(modules.map(({ page }) => page))}`);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
