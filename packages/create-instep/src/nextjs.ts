// The code that connects Instep with a Next.js app, and where it belongs.

import { posix } from 'node:path';
import { HANDLED_TYPES, USER_PATH, WEBHOOK_PATH } from 'instep/setup';
import { type App, InitRefused } from './app.ts';
import type { FileChange, Plan, Remark, Way } from './changes.ts';

/** The code that the guides show. `tests/cli/init.test.ts` compares them. */
export const NEXT_CODE = {
  imports: "import { createNextHandlers } from 'instep/next';\n\n",
  handlers:
    "export const { GET, POST, completeCheckout } = createNextHandlers({ maintenance: 'background' });\n",
  serverlessHandlers:
    'export const { GET, POST, cron, completeCheckout } = createNextHandlers({ maxConnections: 2 });\n',
  user: "export { GET } from '@/lib/instep';\n",
  webhook: "export { POST } from '@/lib/instep';\n",
  maintenance: "export { cron as GET } from '@/lib/instep';\n",
  schedule: '{ "crons": [{ "path": "/api/instep/maintenance", "schedule": "23 4 * * *" }] }\n',
  rewrites: `async rewrites() {
  const instep = process.env.INSTEP_URL ?? 'http://127.0.0.1:3010';
  return {
    beforeFiles: ['/api/user', '/api/stripe/webhook'].map((source) => ({
      source,
      destination: \`\${instep}\${source}\`,
    })),
  };
},
`,
  fetcher:
    'fetch(url).then((res) => (res.ok ? res.json() : Promise.reject(new Error(res.statusText))))',
  checkout: `import { eq } from 'drizzle-orm';
import { type CheckoutOf, InstepError } from 'instep';
import { completeCheckout } from 'instep/next';
import { redirect } from 'next/navigation';
import { db } from '@/lib/db/drizzle';
import { teamMembers } from '@/lib/db/schema';

export async function GET(request: Request) {
  const sessionId = new URL(request.url).searchParams.get('session_id') ?? '';
  try {
    await completeCheckout(sessionId, { teamId: teamOfUser });
  } catch (error) {
    if (!(error instanceof InstepError)) throw error;
    if (error.code === 'CHECKOUT_NOT_COMPLETE') redirect('/pricing');
    // Other errors are for the page of errors.
    if (error.code !== 'STRIPE_UNAVAILABLE') throw error;
    console.error(\`\${error.message} [\${error.code}]\`);
    // Only this call leads from the session to the team, so the browser tries again every 5 seconds.
    return new Response('<p>We are waiting for Stripe. This page then goes on to your plan.</p>', {
      status: 503,
      headers: { 'Content-Type': 'text/html; charset=utf-8', Refresh: '5' },
    });
  }
  redirect('/dashboard');
}

async function teamOfUser({ clientReferenceId }: CheckoutOf) {
  const [member] = await db
    .select({ teamId: teamMembers.teamId })
    .from(teamMembers)
    .where(eq(teamMembers.userId, Number(clientReferenceId)));
  if (member === undefined) throw new Error('The user who paid has no team.');
  return member.teamId;
}
`,
} as const;

/** Instep's port beside the app, which has the default one. */
export const PORT = '3010';

/** What nextjs/saas-starter's own routes export, and the names that they import. */
const USER_ROUTE = { method: 'GET', imports: 'getUser' };
const WEBHOOK_ROUTE = {
  method: 'POST',
  imports: 'Stripe handleSubscriptionChange stripe NextRequest NextResponse',
};
const CHECKOUT_ROUTE = {
  method: 'GET',
  imports: 'eq db users teams teamMembers setSession NextRequest NextResponse stripe Stripe',
};
type KnownRoute = typeof USER_ROUTE;

/** What connects Instep with a Next.js app. @throws InitRefused if that is not possible */
export function planNextjs(app: App, way: Way, isServerless: boolean, hasProfile: boolean): Plan {
  const files: FileChange[] = [];
  const remarks: Remark[] = [];
  const paths = [...app.sources.keys()];
  const isIn = (folder: string) => paths.some((path) => path.startsWith(folder));
  const source = !isIn('app/') && isIn('src/') ? 'src/' : '';
  const settings = app.read('tsconfig.json') ?? app.read('jsconfig.json') ?? '';
  const hasAlias = new RegExp(`"@/\\*"\\s*:\\s*\\[\\s*"(?:\\./)?${source}\\*"`).test(settings);
  const extension = app.read('tsconfig.json') === null ? 'js' : 'ts';
  const fileOf = (route: string) => {
    const found = paths.find((path) => routeOf(path, source) === route);
    return found ?? `${source}app${route}/route.${extension}`;
  };

  if (way === 'inside') {
    const [, major = '15'] = /^\D*(\d+)\./.exec(app.frameworkVersion) ?? [];
    if (!isIn(`${source}app/`) || Number(major) < 15) {
      throw new InitRefused(
        'inside, Instep needs the App Router of Next.js 15.1 or newer: use --beside',
      );
    }
    const handlers = isServerless ? NEXT_CODE.serverlessHandlers : NEXT_CODE.handlers;
    const own = hasProfile ? handlers : withoutProfile(handlers);
    replace(`${source}lib/instep.${extension}`, NEXT_CODE.imports + own, null);
    if (hasProfile) replaceRoute(USER_PATH, NEXT_CODE.user, USER_ROUTE);
    replaceRoute(WEBHOOK_PATH, NEXT_CODE.webhook, WEBHOOK_ROUTE);
    if (isServerless) planSchedule();
  } else {
    planRewrites();
    planPort();
  }
  const checkout = fileOf('/api/stripe/checkout');
  const modules = ['@/lib/db/drizzle', '@/lib/db/schema'];
  const hasModules = modules.every((name) => app.read(checkout)?.includes(name));
  if (!hasModules || extension === 'js') {
    remarks.push({ text: `call completeCheckout where Stripe redirects to (docs/checkout.md)` });
  } else {
    const own = way === 'inside' ? `'@/lib/instep'` : `'instep/next'`;
    replace(checkout, NEXT_CODE.checkout.replace(`'instep/next'`, own), CHECKOUT_ROUTE);
  }
  for (const [path, text] of app.sources) {
    if (hasProfile && text.includes(USER_PATH)) change(path, text.replace(FETCHER, checkedFetcher));
  }
  return { files, remarks };

  function change(path: string, text: string): void {
    const before = app.read(path);
    const isCrlf = before?.includes('\r\n') && !/(?<!\r)\n/.test(before);
    const after = isCrlf ? text.replace(/\r?\n/g, '\r\n') : text;
    if (before !== after) files.push({ path, before, after });
  }

  /** Next.js does not build an app that has a route in both of its routers. */
  function replaceRoute(route: string, code: string, known: KnownRoute): void {
    const path = fileOf(route);
    if (!path.startsWith(`${source}pages/`)) {
      replace(path, code, known);
      return;
    }
    const added = `${source}app${route}/route.${extension}`;
    const lines = hasAlias ? code : code.replace('@/lib/instep', relativePath(added));
    const text = `${path} has the route ${route}, and stays as it is. Delete it, and add ${added}`;
    remarks.push({ text, lines });
  }

  function relativePath(path: string): string {
    return posix.relative(posix.dirname(path), `${source}lib/instep`);
  }

  /** Replaces a file of the app if it does only what is known. */
  function replace(path: string, code: string, known: KnownRoute | null): void {
    const before = app.read(path);
    if (before !== null && /from ['"][^'"]*\binstep(?:\/next)?['"]/.test(before)) return;
    const lines = hasAlias ? code : code.replace('@/lib/instep', relativePath(path));
    const reason = before === null ? null : strangeIn(before, known);
    if (reason === null) change(path, lines);
    else
      remarks.push({ text: `${path} stays as it is, because it ${reason}. Replace it by`, lines });
  }

  function planRewrites(): void {
    const path = configFile(app) ?? 'next.config.mjs';
    const before = app.read(path) ?? 'const nextConfig = {};\n\nexport default nextConfig;\n';
    if (before.includes(WEBHOOK_PATH)) return;
    const rewrites = hasProfile ? NEXT_CODE.rewrites : withoutProfile(NEXT_CODE.rewrites);
    const after = withRewrites(before, rewrites);
    const text = `${path} stays as it is, because its form is not known. Add this to the configuration`;
    if (after === null) remarks.push({ text, lines: rewrites });
    else change(path, after);
  }

  /** The first line of the file, so that its patch has no other line, even if the last one is not ended. */
  function planPort(): void {
    // Next.js takes its own port from the environment only, but another server can take it from the file.
    const isNext = Object.values(app.scripts).some((command) => /\bnext dev\b/.test(command));
    const path = app.read('.env.local') === null ? '.env' : '.env.local';
    const text = app.read(path) ?? '';
    if (isNext && process.env.PORT === undefined) change(path, `PORT=${PORT}\n${text}`);
  }

  function planSchedule(): void {
    replace(fileOf('/api/instep/maintenance'), NEXT_CODE.maintenance, null);
    if (process.env.CRON_SECRET === undefined) {
      const text = 'where you deploy, set CRON_SECRET to the output of `openssl rand -hex 16`';
      remarks.push({ text });
    }
    if (app.read('vercel.json')?.includes('/api/instep/maintenance')) return;
    const path = '/api/instep/maintenance';
    const address = addressOf(app, path);
    const text = `let a scheduler call ${address} once a day, or more often. On Vercel, vercel.json needs`;
    remarks.push({ text, lines: NEXT_CODE.schedule.replace(path, address) });
  }
}

/** The code for an app that keeps its own profile. */
function withoutProfile(code: string): string {
  return code
    .replace('{ GET, POST', '{ POST')
    .replace(' });', ', profile: false });')
    .replace("'/api/user', ", '');
}

const EXTENSION = /\.(?:tsx?|jsx?)$/;

/** The address of the route in a file, without `basePath`; `null`: it is the file of no route handler. */
function routeOf(path: string, source: string): string | null {
  if (!path.startsWith(source) || !EXTENSION.test(path)) return null;
  const [router, ...segments] = path.slice(source.length).replace(EXTENSION, '').split('/');
  const last = segments.at(-1);
  if (router === 'pages')
    return `/${(last === 'index' ? segments.slice(0, -1) : segments).join('/')}`;
  if (router !== 'app' || last !== 'route') return null;
  // Groups and slots are no part of an address.
  const named = segments.slice(0, -1).filter((segment) => !/^(?:\(.*\)|@.*)$/.test(segment));
  return `/${named.join('/')}`;
}

function configFile(app: App): string | undefined {
  const names = ['ts', 'mts', 'mjs', 'js', 'cjs'].map((one) => `next.config.${one}`);
  return names.find((name) => app.read(name) !== null);
}

const COMMENT = /\/\*(?:.|\n)*?\*\/|(?<=^|\s)\/\/.*$/gm;

/** Where a route answers without a redirect: Next.js can have a prefix for all addresses, and a slash after each. */
export function addressOf(app: App, route: string): string {
  const file = configFile(app);
  const config = ((file && app.read(file)) ?? '').replace(COMMENT, '');
  const [, , basePath = ''] = /\bbasePath['"]?\s*:\s*(['"`])(\/[\w./~-]*)\1/.exec(config) ?? [];
  const hasSlash = /\btrailingSlash['"]?\s*:\s*true\b/.test(config);
  return `${basePath}${route}${hasSlash ? '/' : ''}`;
}

/** What a route does that the starter's does not; `null`: nothing, so it can be replaced. */
function strangeIn(text: string, known: KnownRoute | null): string | null {
  if (known === null) return 'exists already';
  const imports = [
    ...text.matchAll(/^import\s+(?:type\s+)?([^'"]*?)(?:\s+from\s+)?['"]([^'"]+)/gm),
  ];
  const imported = imports.flatMap(([, names = '', from = '']) =>
    names === '' ? [from] : names.split(/[\s{},]+|type\s/).filter((name) => name !== ''),
  );
  const strange = imported.filter((name) => !known.imports.split(' ').includes(name));
  if (strange.length > 0) return `imports ${strange.join(', ')}`;
  const form = /^export\s+(?:async\s+)?(?:(?:function|const|let|var|class)\s+)?(\S+?)\b/gm;
  const exported = [...text.matchAll(form)].map(([, name]) => name);
  if (exported.join() !== known.method) return `exports not only ${known.method}`;
  const types = [...text.matchAll(/(?:case|===?)\s*['"](\w+\.[\w.]+)['"]/g)].map(
    ([, type]) => type,
  );
  const others = types.filter((type) => !HANDLED_TYPES.some((handled) => handled === type));
  if (others.length > 0) return `also handles ${others.join(', ')} (docs/your-tables.md)`;
  return /\bfetch\(|\bimport\(|\brequire\(/.test(text) ? 'calls other code' : null;
}

/** The configuration with the rewrites first; `null` if there is no place for them. */
function withRewrites(text: string, rewrites: string): string | null {
  const start =
    /^(?:export default|module\.exports =|(?:const|let|var)\s+(\w+)(?:\s*:\s*[\w.]+)?\s*=)\s*\{/gm;
  const isExported = (name: string) =>
    new RegExp(`(?:export default|module\\.exports =)[^;]*\\b${name}\\b`).test(text);
  const [object, ...others] = [...text.matchAll(start)].filter(
    ([, name]) => name === undefined || isExported(name),
  );
  if (object === undefined || others.length > 0 || /\brewrites\b/.test(text)) return null;
  const end = object.index + object[0].length;
  const method = rewrites.trimEnd().replace(/^/gm, '  ');
  const rest = text.slice(end);
  return `${text.slice(0, end)}\n${method}${/^\r?\n/.test(rest) ? '' : '\n'}${rest}`;
}

/** A fetcher in the starter's form, which takes an error for a user. */
const FETCHER =
  /^(const \w+ = \((\w+)(?:: string)?\) =>)\s+fetch\(\2\)\s*\.then\(\((\w+)\) => \3\.json\(\)\);?[ \t]*(?=\r?$)/gm;

function checkedFetcher(_: string, head: string, url: string): string {
  return `${head}\n  ${NEXT_CODE.fetcher.replace('url', url)};`;
}
