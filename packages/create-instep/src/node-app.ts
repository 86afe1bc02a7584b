// The lines that connect Instep with an Express, Fastify or Hono app, and where they belong.

import { USER_PATH, WEBHOOK_PATH } from 'instep/setup';
import type { App, Framework } from './app.ts';
import type { Plan } from './changes.ts';

type NodeFramework = Exclude<Framework, 'Next.js'>;

/** The lines that the guides show (`tests/cli/init.test.ts` compares them), and what creates the app. */
export const MOUNTS = {
  Express: {
    importLine: `import { createNodeHandler } from 'instep/node';`,
    lines: 'const instep = createNodeHandler();\napp.use(instep);',
    call: /express\(/,
  },
  Fastify: {
    importLine: `import { fastifyInstep } from 'instep/node';`,
    lines: 'app.register(fastifyInstep);',
    call: /[fF]astify\(/,
  },
  Hono: {
    importLine: `import { createHandler } from 'instep';`,
    lines: `const instep = createHandler();
app.mount('/api/user', instep, { replaceRequest: false });
app.mount('/api/stripe/webhook', instep, { replaceRequest: false });`,
    call: /new Hono(?:<[^()]*>)?\(/,
  },
} as const satisfies Record<NodeFramework, object>;

const TEST = /(?:^|\/)(?:tests?|__tests__)\/|\.(?:test|spec)\.\w+$/;

/** The lines that connect Instep with an app, before all of the app's own handlers. */
export function planNodeApp(app: App, framework: NodeFramework, hasProfile: boolean): Plan {
  const { importLine, call } = MOUNTS[framework];
  const lines = hasProfile ? MOUNTS[framework].lines : withoutProfile(MOUNTS[framework].lines);
  const routes = hasProfile ? [USER_PATH, WEBHOOK_PATH] : [WEBHOOK_PATH];
  const declaration = /^([ \t]*)(?:export )?(?:const|let|var) (\w+)(?:: [\w.<>]+)? = /;
  const creation = new RegExp(declaration.source + call.source, 'gm');
  const plan = { files: [], remarks: [] };
  const sources = [...app.sources].filter(([path]) => !TEST.test(path));
  if (sources.some(([, text]) => /['"]instep(?:\/node)?['"]/.test(text))) return plan;
  const creations = sources.flatMap(([path, text]) =>
    [...text.matchAll(creation)].map((match) => ({ path, text, match })),
  );
  const [only] = creations;
  const paths = creations.map(({ path }) => path).join(', ') || 'nowhere';
  if (only === undefined || creations.length > 1) {
    return byHand(`it is not clear where the ${framework} app is created (found: ${paths})`);
  }
  const owners = sources
    .filter(([, text]) => new RegExp(`['"\`](?:${routes.join('|')})['"\`]`).test(text))
    .map(([path]) => path)
    .join(', ');
  const already = `${owners} has a route for ${routes.join(' or ')}`;
  // Fastify does not start with two handlers of one route.
  if (owners !== '' && framework === 'Fastify') return byHand(already);
  const after = withMount(only.text, only.match, { importLine, lines });
  if (after === null) return byHand(`the form of ${only.path} is not known`);
  const guide = 'docs/connect/any-server.md';
  const checkout = { text: `call completeCheckout where Stripe redirects to (${guide})` };
  const other = { text: `${already}, which is not called any more: Instep comes first` };
  const files = [{ path: only.path, before: only.text, after }];
  return { ...plan, files, remarks: owners === '' ? [checkout] : [checkout, other] };

  function byHand(reason: string): Plan {
    const text = `${reason}, so add these lines yourself, before all other handlers`;
    return { ...plan, remarks: [{ text, lines: `${importLine}\n\n${lines}` }] };
  }
}

/** The lines for an app that keeps its own profile. */
function withoutProfile(lines: string): string {
  return lines
    .replace('Handler()', 'Handler({ profile: false })')
    .replace('fastifyInstep)', 'fastifyInstep, { profile: false })')
    .replace(/^.*'\/api\/user'.*\n/m, '');
}

const IMPORT =
  /^(?:import\b[^;'"]*['"][^'"\n]+['"]|(?:const|let|var) [^=\n]+ = require\(['"][^'"\n]+['"]\)).*$/gm;

type Mount = { readonly importLine: string; readonly lines: string };

/** The text with the lines after the statement that creates the app; `null` if its form is not known. */
function withMount(text: string, match: RegExpExecArray, mount: Mount): string | null {
  const [start = '', indent = '', name = 'app'] = match;
  const end = endOfStatement(text, match.index + start.length, indent);
  const last = [...text.matchAll(IMPORT)].findLast(({ index }) => index < match.index);
  if (end === null || last === undefined || /\binstep\b/.test(text)) return null;
  const [line] = last;
  const imported = line.includes('require(')
    ? mount.importLine.replace(/^import (.*) from (.*);$/, 'const $1 = require($2);')
    : mount.importLine;
  const lines = mount.lines.replace(/^app\b/gm, name).replace(/^/gm, indent);
  const endOfImports = last.index + line.trimEnd().length;
  const between = text.slice(endOfImports, end);
  const after = `${text.slice(0, endOfImports)}\n${imported}${between}\n${lines}${text.slice(end)}`;
  return text.includes('\r\n') ? after.replace(/\r?\n/g, '\r\n') : after;
}

/** The end of the statement whose arguments begin here; `null` if more follows them than a line. */
function endOfStatement(text: string, start: number, indent: string): number | null {
  const rest = text.slice(start);
  const isOpen = /^[^\n]*[({[,][ \t]*\r?\n/.test(rest);
  const close = isOpen ? `[^]*?\\n${indent}[\\])}]+` : '[^\\n]*?';
  const [found] = new RegExp(`^${close}\\);?(?=[ \\t]*\\r?(?:\\n|$))`).exec(rest) ?? [];
  if (found === undefined || /\)\s*\.(?!withTypeProvider\b)/.test(found)) return null;
  return /^\s*\./.test(rest.slice(found.length)) ? null : start + found.length;
}
