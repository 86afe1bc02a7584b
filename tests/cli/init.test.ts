import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { NEXT_CODE } from 'create-instep/src/nextjs.ts';
import { MOUNTS } from 'create-instep/src/node-app.ts';
import { beforeAll, describe, expect, test } from 'vitest';
import { PLAIN_SERVERS } from '../support/init/plain-servers.ts';
import {
  createStarterApp,
  type Files,
  MANIFEST,
  STARTER_FILES,
  writeFiles,
} from '../support/init/starter-app.ts';
import { connect, createDatabase, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { createFolder, runInstep } from '../support/process/instep-process.ts';
import { ROOT } from '../support/repository.ts';
import { AUTH_SECRET, WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { someOf } from '../support/test-length.ts';

const { url } = await createDatabase();

/** No API listens at this address. */
const API = `STRIPE_API_BASE=http://127.0.0.1:1\nSTRIPE_WEBHOOK_SECRET=${WEBHOOK_SECRET}\n`;
const VARIABLES = `POSTGRES_URL=${url.href}\nAUTH_SECRET=${AUTH_SECRET}\n${API}`;

const init = (folder: string, ...args: string[]) => runInstep(['init', ...args], {}, folder);

/** Every file of the folder with its text. */
function filesOf(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  );
}

const page = (path: string) => readFileSync(join(ROOT, path), 'utf8');

describe.each(someOf(1, ['inside', 'beside']))('--%s an app like the starter', (way) => {
  const folder = createStarterApp(VARIABLES);
  const before = filesOf(folder);
  let first: Awaited<ReturnType<typeof init>>;
  beforeAll(async () => {
    first = await init(folder, `--${way}`, '--yes');
  });

  test('shows one diff without a secret, applies it, and checks everything', () => {
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain('+++ app/api/stripe/checkout/route.ts');
    expect(first.stdout).toMatch(/^database +PostgreSQL at .* \(POSTGRES_URL\)$/m);
    expect(first.stdout).not.toContain(url.href);
    expect(first.stdout).not.toContain(AUTH_SECRET);
    expect(first.stdout).toMatch(/^ok +users and teams +usable: public.users and public.teams/m);
    expect(first.stdout).toContain('`npx instep init --undo` reverses all this.');
  });

  test('connects the routes, the checkout, the fetchers and the variables', () => {
    const after = filesOf(folder);
    const changed = Object.keys(after).filter((path) => after[path] !== before[path]);
    const both = ['.env', '.instep-init.json', 'app/(dashboard)/signed-in-user.tsx', CHECKOUT];
    const own = way === 'inside' ? ['lib/instep.ts', USER, WEBHOOK] : ['next.config.ts'];
    expect(changed.sort()).toEqual([...both, ...own].sort());
    expect(after['app/(dashboard)/signed-in-user.tsx']).toContain(NEXT_CODE.fetcher);
    expect(after['.instep-init.json']).not.toMatch(/postgres:|canary/);
    const port = way === 'beside' ? 'PORT=3010\n' : '';
    expect(after['.env']).toBe(`TEAM_PLAN=best\n${port}${VARIABLES}`);
    expect(first.stdout).toContain('where you deploy Instep, set TEAM_PLAN=best as well');
    if (way === 'beside') {
      expect(after['next.config.ts']).toContain(NEXT_CODE.rewrites.replace(/^(?=.)/gm, '  '));
      expect(after[CHECKOUT]).toBe(NEXT_CODE.checkout);
    } else {
      expect(after['lib/instep.ts']).toBe(NEXT_CODE.imports + NEXT_CODE.handlers);
      expect(after[USER]).toBe(NEXT_CODE.user);
      expect(after[WEBHOOK]).toBe(NEXT_CODE.webhook);
      expect(after[CHECKOUT]).toContain("import { completeCheckout } from '@/lib/instep';");
    }
  });

  test('changes nothing the second time, and only after an undo the other way', async () => {
    const after = filesOf(folder);
    const second = await init(folder);
    expect(second).toMatchObject({ code: 0 });
    expect(second.stdout).toContain('No file of the app has to be changed.');
    const other = await init(folder, way === 'inside' ? '--beside' : '--inside');
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('init --undo') });
    expect(filesOf(folder)).toEqual(after);
  });

  test('--undo refuses what was changed since, keeps what was added, and restores the rest', async () => {
    const added = '// Ours.\n';
    const path = 'app/(dashboard)/signed-in-user.tsx';
    writeFileSync(join(folder, path), `${filesOf(folder)[path]}${added}`);
    const ours = filesOf(folder);
    writeFiles(folder, { [CHECKOUT]: '// Ours.\n' });
    const changed = filesOf(folder);
    const refused = await init(folder, '--undo', '--yes');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`  - ${CHECKOUT}\n`),
    });
    expect(filesOf(folder)).toEqual(changed);

    writeFiles(folder, { [CHECKOUT]: ours[CHECKOUT] ?? '' });
    const undone = await init(folder, '--undo', '--yes');
    expect(undone).toMatchObject({ code: 0 });
    expect(undone.stdout).not.toContain(url.href);
    expect(filesOf(folder)).toEqual({ ...before, [path]: `${before[path]}${added}` });
    const again = await init(folder, '--undo', '--yes');
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing to undo') });
  });
});

const USER = 'app/api/user/route.ts';
const WEBHOOK = 'app/api/stripe/webhook/route.ts';
const CHECKOUT = 'app/api/stripe/checkout/route.ts';

async function diffOf(files: Files, ...args: string[]): Promise<string> {
  const folder = createStarterApp(VARIABLES, files);
  const before = filesOf(folder);
  const shown = await init(folder, '--inside', ...args);
  expect(shown).toMatchObject({ code: 1, stderr: expect.stringContaining('add --yes') });
  expect(filesOf(folder)).toEqual(before);
  return shown.stdout;
}

const UNUSUAL_ROUTES: [reason: string, path: string, change: (text: string) => string][] = [
  ['imports audit', USER, (text) => `import { audit } from './audit';\n${text}`],
  ['exports not only GET', USER, (text) => `${text}export async function DELETE() {}\n`],
  [
    'also handles invoice.paid',
    WEBHOOK,
    (text) => text.replace('subscription.deleted', 'x').replace('customer.x', 'invoice.paid'),
  ],
  [
    'calls other code',
    WEBHOOK,
    (text) => text.replace('break;', "await fetch('https://example.com');"),
  ],
];

test.each(someOf(3, UNUSUAL_ROUTES))(
  'a route that %s stays as it is: %s',
  async (reason, path, change) => {
    const shown = await diffOf({ [path]: change(STARTER_FILES[path] ?? '') });
    expect(shown).toContain(`${path} stays as it is, because it ${reason}`);
    expect(shown).not.toContain(`+++ ${path}`);
    expect(shown).toContain('+++ lib/instep.ts');
  },
);

test.each([
  'app/api/stripe/webhook/route.js',
  'app/api/stripe/webhook/route.tsx',
  'app/(api)/api/(billing)/stripe/webhook/route.ts',
])('finds the route of the app in %s, and adds no second one', async (path) => {
  const shown = await diffOf({ [WEBHOOK]: null, [path]: STARTER_FILES[WEBHOOK] ?? '' });
  expect(shown).toContain(`+++ ${path}`);
  expect(shown).not.toContain(`+++ ${WEBHOOK}\n`);
});

test.each(['pages/api/stripe/webhook.ts', 'pages/api/stripe/webhook/index.js'])(
  'leaves the route of the other router to the user: %s',
  async (path) => {
    const shown = await diffOf({ [WEBHOOK]: null, [path]: 'export default function POST() {}\n' });
    expect(shown).toContain(`${path} has the route /api/stripe/webhook`);
    expect(shown).not.toContain(`+++ ${WEBHOOK}`);
  },
);

test('prints no escape sequence of a file', async () => {
  const path = 'app/(\u001b]0;x\u0007)/api/stripe/webhook/route.ts';
  const shown = await diffOf({ [WEBHOOK]: null, [path]: "import './x\u001b[2J';\n" });
  expect(shown).toContain('stays as it is, because it imports ./x');
  for (const text of ['\u001b]0', '\u001b[2J', '\u0007']) expect(shown).not.toContain(text);
});

test('follows no symbolic link out of the app, also not of a record in a repository', async () => {
  const folder = createStarterApp(VARIABLES);
  const outside = createFolder();
  writeFiles(outside, { 'notes.txt': 'theirs\n', 'package.json': '{}' });
  symlinkSync(outside, join(folder, 'linked'));
  const patch = ['--- /dev/null', '+++ linked/notes.txt', '@@ -0,0 +1,1 @@', '+theirs', ''];
  const files = [{ path: 'linked/notes.txt', isNew: true, patch }];
  const record = { about: '', way: 'inside', installed: false, files };
  writeFiles(folder, { '.instep-init.json': JSON.stringify(record) });
  const undone = await init(folder, '--undo', '--yes');
  expect(undone).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('leads out of the app'),
  });
  expect(filesOf(outside)['notes.txt']).toBe('theirs\n');

  const written = createStarterApp(VARIABLES, { lib: null });
  symlinkSync(outside, join(written, 'lib'));
  const refused = await init(written, '--inside', '--yes');
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('leads out of the app'),
  });
  expect(Object.keys(filesOf(outside)).sort()).toEqual(['notes.txt', 'package.json']);
});

test('an app without a checkout route, without an alias and in src has the same code', async () => {
  const moved = Object.entries(STARTER_FILES).filter(([path]) => path.startsWith('app/'));
  const shown = await diffOf({
    ...Object.fromEntries(moved.map(([path]) => [path, null])),
    ...Object.fromEntries(moved.map(([path, text]) => [`src/${path}`, text])),
    [`src/${CHECKOUT}`]: null,
    app: null,
    lib: null,
    'src/auth.ts': "export const algorithm = 'HS256';\n",
    'tsconfig.json': '{}',
  });
  expect(shown).toContain("+export { GET } from '../../../lib/instep';");
  expect(shown).toContain("+export { POST } from '../../../../lib/instep';");
  expect(shown).toContain('+++ src/lib/instep.ts');
  expect(shown).toContain('call completeCheckout where Stripe redirects to');
});

test.each([['--serverless'], ['vercel.json']])(
  'in functions (%s) it adds a route for a scheduler',
  async (how) => {
    const args = how.startsWith('--') ? [how] : [];
    const shown = await diffOf(args.length === 0 ? { [how]: '{}\n' } : {}, ...args);
    expect(shown).toContain('+++ app/api/instep/maintenance/route.ts');
    expect(shown).toContain('set CRON_SECRET to the output of');
    expect(shown).toContain(NEXT_CODE.schedule.trim());
  },
);

const NEXT_CONFIGS: [text: string, isFound: boolean][] = [
  ['module.exports = {\n  reactStrictMode: true,\n};\n', true],
  [
    "/** @type {import('next').NextConfig} */\nconst config = {};\n\nexport default withPlugins(config);\n",
    true,
  ],
  ['export default {\r\n  reactStrictMode: true,\r\n};\r\n', true],
  ['export default { reactStrictMode: true };\n', true],
  ['export default async () => ({});\n', false],
  ['const nextConfig = { async rewrites() { return []; } };\nexport default nextConfig;\n', false],
  ['const one = {\n};\nconst two = {\n};\nexport default merge(one, two);\n', false],
];

test.each(someOf(2, NEXT_CONFIGS))(
  'finds the place for the rewrites in %j: %s',
  async (text, isFound) => {
    const folder = createStarterApp(VARIABLES, { 'next.config.ts': null, 'next.config.mjs': text });
    const { stdout } = await init(folder, '--beside');
    expect(stdout.includes('+++ next.config.mjs')).toBe(isFound);
    expect(stdout.includes('next.config.mjs stays as it is')).toBe(!isFound);
  },
);

test.each([
  ["export default { basePath: '/app', trailingSlash: true };\n", '/app/api/stripe/webhook/'],
  [
    'module.exports = {\n  // trailingSlash: true,\n  "basePath": "/a/b",\n};\n',
    '/a/b/api/stripe/webhook',
  ],
])('names the address that answers with the configuration %j: %s', async (text, address) => {
  const folder = createStarterApp(VARIABLES, { 'next.config.ts': null, 'next.config.mjs': text });
  const { stdout } = await init(folder, '--inside', '--yes');
  expect(stdout).toContain(`register https://your.app${address} for`);
  expect(stdout).toContain(`--forward-to 127.0.0.1:3000${address} `);
});

const VARIABLE_FILES = [
  ['CRLF', VARIABLES.replaceAll('\n', '\r\n')],
  ['no last newline', VARIABLES.trimEnd()],
  ['quotes and export', VARIABLES.replace(/POSTGRES_URL=(.*)/, 'export POSTGRES_URL="$1"')],
] as const;

test.each(someOf(1, VARIABLE_FILES))(
  '.env with %s is restored byte for byte',
  async (_, variables) => {
    const folder = createStarterApp(variables);
    expect(await init(folder, '--beside', '--yes')).toMatchObject({ code: 0 });
    const added = filesOf(folder)['.env'] ?? '';
    const newline = /(?<!\r)\n/.test(variables) ? '\n' : '\r\n';
    expect(added).toBe(`TEAM_PLAN=best${newline}PORT=3010${newline}${variables}`);
    expect(filesOf(folder)['.instep-init.json']).not.toMatch(/postgres:|canary/);
    const shown = await runInstep(['tables'], {}, folder);
    expect(shown).toMatchObject({ code: 0 });
    await init(folder, '--undo', '--yes');
    expect(filesOf(folder)['.env']).toBe(variables);
  },
);

test('variables that exist are never changed, and .env.local is read as in Next.js', async () => {
  const local = `DATABASE_URL=${url.href}\nPORT=4000\nTEAM_PLAN=newest\n`;
  const dependencies = { ...MANIFEST.dependencies, 'instep-console': '*' };
  const manifest = JSON.stringify({ ...MANIFEST, dependencies });
  const folder = createStarterApp(VARIABLES, { '.env.local': local, 'package.json': manifest });
  const done = await init(folder, '--beside', '--yes');
  expect(done).toMatchObject({ code: 0 });
  expect(done.stdout).toMatch(/The console is at http:\S+\.$/m);
  expect(filesOf(folder)).toMatchObject({ '.env': VARIABLES, '.env.local': local });
});

test.each<[problem: string, prepare: (folder: string) => void]>([
  ['read-only', (folder) => chmodSync(join(folder, CHECKOUT), 0o444)],
  ['not a directory|EEXIST', (folder) => writeFiles(folder, { lib: null })],
])('after an error with a file (%s) nothing is half done', async (problem, prepare) => {
  const folder = createStarterApp(VARIABLES);
  prepare(folder);
  if (problem !== 'read-only') writeFiles(folder, { lib: 'a file in place of the folder' });
  const before = filesOf(folder);
  const { code, stderr } = await init(folder, '--inside', '--yes');
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`nothing was changed.*(${problem})`));
  expect(filesOf(folder)).toEqual(before);
});

test('refuses a database without tables, and creates nothing there', async () => {
  const empty = await createEmptyDatabase();
  const folder = createStarterApp(VARIABLES.replace(url.href, empty.href));
  const { code, stderr } = await init(folder, '--beside', '--yes');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining("run your app's migrations first"),
  });
  const database = connect(empty);
  expect(await database.query("select to_regnamespace('instep') as schema")).toEqual([
    { schema: null },
  ]);
  await database.close();
});

test.each([
  ['AUTH_SECRET', VARIABLES.replace(/AUTH_SECRET=.*\n/, '')],
  ['DATABASE_URL', VARIABLES.replace(/POSTGRES_URL=.*\n/, '')],
])('refuses without %s', async (name, variables) => {
  const { code, stderr } = await init(createStarterApp(variables), '--beside', '--yes');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining(`${name} is missing`),
  });
});

test('in a monorepo the folder of the app is connected, with the package manager of the root', async () => {
  const root = createFolder();
  writeFiles(root, {
    'package.json': JSON.stringify({ private: true, workspaces: ['apps/*'] }),
    'pnpm-workspace.yaml': 'packages:\n  - apps/*\n',
    'pnpm-lock.yaml': '',
    '.env': VARIABLES,
  });
  const refused = await init(root, '--inside');
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('root of a workspace'),
  });

  const folder = join(root, 'apps/web');
  mkdirSync(folder, { recursive: true });
  const manifest = { ...MANIFEST, dependencies: { next: '15.4.0' } };
  writeFiles(folder, {
    ...STARTER_FILES,
    '.env': VARIABLES,
    'package.json': JSON.stringify(manifest),
  });
  const { stdout } = await init(folder, '--inside');
  expect(stdout).toMatch(/^app +Next\.js 15\.4\.0, pnpm$/m);
});

test.each([0, 1])(
  'installs the package, and uninstalls it; everything stays as it is if that fails (%s)',
  async (exitCode) => {
    const programs = createFolder();
    const calls = join(programs, 'calls');
    const program = `#!/bin/sh\necho "$@" >> ${calls}\nexit ${exitCode}\n`;
    writeFiles(programs, { pnpm: program });
    chmodSync(join(programs, 'pnpm'), 0o755);
    const without = JSON.stringify({ dependencies: { next: '15.4.0' } });
    const folder = createStarterApp(VARIABLES, {
      'pnpm-lock.yaml': '',
      'package-lock.json': null,
      'package.json': without,
    });
    const before = filesOf(folder);
    const run = (...args: string[]) =>
      runInstep(['init', ...args, '--yes'], { PATH: `${programs}:${process.env.PATH}` }, folder);
    const { code, stdout, stderr } = await run('--inside');
    expect(stdout).toContain('It also runs `pnpm add instep@');
    expect(code).toBe(exitCode);
    if (exitCode === 0) {
      writeFiles(folder, { 'package.json': JSON.stringify(MANIFEST) });
      expect(await run('--undo')).toMatchObject({ code: 0 });
      expect(readFileSync(calls, 'utf8')).toMatch(/^add instep@[\d.]+\nremove instep\n$/);
    } else {
      expect(stderr).toContain('nothing was changed, because `pnpm add');
      expect(filesOf(folder)).toEqual(before);
    }
  },
);

test.each([
  ['a path that leads out of the app', { path: '../other.ts', isNew: true, patch: [] }],
  ['a file that is not listed', 'lib/instep.ts'],
])('a record with %s is refused', async (_, file) => {
  const record = { about: '', way: 'inside', installed: false, files: [file] };
  const folder = createStarterApp(VARIABLES, { '.instep-init.json': JSON.stringify(record) });
  const refused = await init(folder, '--undo', '--yes');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('is damaged') });
});

const nodeApp = (framework: string, path: string, text: string, others: Files = {}): string => {
  const dependencies = { [framework.toLowerCase()]: '5', instep: 'file:instep' };
  const folder = createFolder();
  const manifest = JSON.stringify({ type: 'module', dependencies });
  const session = "export const algorithm = 'HS256';\n";
  const files = { 'package.json': manifest, '.env': VARIABLES, 'session.js': session };
  writeFiles(folder, { ...files, [path]: text, ...others });
  return folder;
};

const serverOf = (name: string) =>
  PLAIN_SERVERS.find(({ framework }) => framework === name)?.text ?? '';

const UNKNOWN_CODE = [
  ['nowhere', 'Express', 'export const nothing = 1;\n'],
  [
    'is not known',
    'Hono',
    "import { Hono } from 'hono';\nconst app = new Hono().basePath('/api');\n",
  ],
  ['has a route', 'Fastify', `${serverOf('fastify')}\napp.post('/api/stripe/webhook', webhook);\n`],
  ['src/app.ts, src/app.ts', 'Express', `${serverOf('express')}const other = express();\n`],
] as const;

test.each(someOf(2, UNKNOWN_CODE))(
  'code that %s (%s) stays as it is, with the lines to add',
  async (reason, framework, text) => {
    const { stdout } = await init(nodeApp(framework, 'src/app.ts', text), '--inside', '--yes');
    expect(stdout).toContain(reason);
    expect(stdout).toContain(`    ${MOUNTS[framework].importLine}`);
    expect(stdout).not.toContain('+++ src/app.ts');
  },
);

test('an app without a known framework gets what its proxy has to do, and asks before the schema', async () => {
  const { database, url } = await createDatabase();
  await database.query('drop schema instep cascade');
  const folder = createFolder();
  writeFiles(folder, { '.env': VARIABLES.replace(/POSTGRES_URL=.*/, `POSTGRES_URL=${url.href}`) });
  const schemas = () => database.query("select from pg_namespace where nspname = 'instep'");
  const shown = await init(folder);
  expect(shown).toMatchObject({ code: 1, stderr: expect.stringContaining('add --yes') });
  expect(shown.stdout).toContain('let your proxy pass /api/stripe/webhook on');
  expect(await schemas()).toEqual([]);
  expect(await init(folder, '--yes')).toMatchObject({ code: 0 });
  expect(await schemas()).toHaveLength(1);
  expect(await init(folder)).toMatchObject({ code: 0 });
  expect(await init(folder, '--undo', '--yes')).toMatchObject({ code: 0 });
  expect(Object.keys(filesOf(folder))).toEqual(['.env']);
  await database.close();
});

describe('an app without HS256 sessions gets no profile', () => {
  const NO_SESSIONS = { 'lib/auth/session.ts': null, 'session.js': null };
  let variables: string;
  beforeAll(async () => {
    const url = await createEmptyDatabase();
    const database = connect(url);
    await database.query(`
      create table teams (
        id serial primary key, stripe_customer_id text unique, stripe_subscription_id text,
        stripe_product_id text, plan_name text, subscription_status text
      )`);
    await database.close();
    variables = `POSTGRES_URL=${url.href}\n${API}`;
  });

  test.each(someOf(1, ['inside', 'beside']))('--%s in Next.js', async (way) => {
    const folder = createStarterApp(variables, NO_SESSIONS);
    const before = filesOf(folder);
    const done = await init(folder, `--${way}`, '--yes');
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout).toMatch(/^ok +access +TEAM_PLAN=best/m);
    expect(done.stdout).toMatch(/^sessions +no code was found that signs the cookie session/m);
    expect(done.stdout).toMatch(/^profile +off, because/m);
    expect(done.stdout).toMatch(/^tables +public.teams$/m);
    expect(done.stdout).toMatch(
      /^ok +teams +usable: public.teams; written: public.teams \(by stripe_customer_id\): .*plan_name/m,
    );
    expect(done.stdout).toContain('where you deploy Instep, set PROFILE=off and TEAM_PLAN=best');
    const after = filesOf(folder);
    const port = way === 'beside' ? 'PORT=3010\n' : '';
    expect(after['.env']).toBe(`PROFILE=off\nTEAM_PLAN=best\n${port}${variables}`);
    for (const path of [USER, 'app/(dashboard)/signed-in-user.tsx']) {
      expect(after[path]).toBe(before[path]);
    }
    if (way === 'inside') {
      expect(after['lib/instep.ts']).toContain(
        "{ POST, completeCheckout } = createNextHandlers({ maintenance: 'background', profile: false });",
      );
    } else {
      expect(after['next.config.ts']).toContain("beforeFiles: ['/api/stripe/webhook'].map(");
    }
    expect((await init(folder)).stdout).toContain('No file of the app has to be changed.');
    expect(await init(folder, '--undo', '--yes')).toMatchObject({ code: 0 });
    expect(filesOf(folder)).toEqual(before);
  });

  test('and what only the shell has set is written for the others, once', async () => {
    const folder = createStarterApp(variables);
    const shell = { PROFILE: 'off', TEAM_PLAN: 'newest' };
    const run = () => runInstep(['init', '--inside', '--yes'], shell, folder);
    expect((await run()).stdout).toMatch(/^profile +off \(PROFILE\)/m);
    const written = `PROFILE=off\nTEAM_PLAN=newest\n${variables}`;
    expect(filesOf(folder)['.env']).toBe(written);
    expect((await run()).stdout).toContain('No file of the app has to be changed.');
    expect(filesOf(folder)['.env']).toBe(written);
  });
});

test.each([
  [
    'docs/connect/nextjs.md',
    ['imports', 'handlers', 'user', 'webhook', 'fetcher', 'rewrites'] as const,
  ],
  [
    'docs/connect/functions.md',
    ['imports', 'serverlessHandlers', 'maintenance', 'schedule'] as const,
  ],
])('%s shows the same code', (path, names) => {
  for (const name of names) expect(page(path)).toContain(NEXT_CODE[name]);
});

test.each(['Express', 'Fastify', 'Hono'] as const)(
  'the guide for %s shows the same lines',
  (framework) => {
    const { importLine, lines } = MOUNTS[framework];
    const guide = page('docs/connect/any-server.md');
    for (const line of [importLine, ...lines.split('\n')]) expect(guide).toContain(`\n${line}\n`);
  },
);
