// The command that connects Instep with an app: it asks, shows what it would change, changes it and tries it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { parseEnv } from 'node:util';
import {
  checkInstallation,
  findTables,
  HANDLED_TYPES,
  type InitOptions,
  paint,
  print,
  printable,
  printableLines,
  printData,
  readSetup,
  USER_PATH,
  VERSION,
  WEBHOOK_PATH,
} from 'instep/setup';
import { type App, InitRefused, readApp } from './app.ts';
import {
  changesOf,
  diffText,
  type FileChange,
  type Plan,
  planUndo,
  RECORD,
  readRecord,
  type Way,
  writeAll,
} from './changes.ts';
import { addressOf, PORT, planNextjs } from './nextjs.ts';
import { planNodeApp } from './node-app.ts';

/**
 * Connects Instep with the app in this folder, or reverses that.
 *
 * @throws InitRefused, with everything as it was unless its message says otherwise; the errors of the configuration
 */
export async function runInit(options: InitOptions): Promise<void> {
  await (options.undo ? undoInit(options) : init(options));
}

async function init(options: InitOptions): Promise<void> {
  const app = readApp(process.cwd());
  const { framework, frameworkVersion, orm, packageManager } = app;
  const signing = [...app.sources].find(([, text]) => /HS256|jsonwebtoken/.test(text))?.[0];
  const isProfileGiven = Boolean(process.env.PROFILE);
  // The checks at the end read them as well.
  if (!isProfileGiven && signing === undefined) process.env.PROFILE = 'off';
  process.env.TEAM_PLAN ||= 'best';
  const hasProfile = process.env.PROFILE !== 'off';
  const variables = missingIn(app, [...(hasProfile ? [] : ['PROFILE']), 'TEAM_PLAN']);
  const whyOff = isProfileGiven ? 'off (PROFILE)' : 'off, because Instep reads only HS256 sessions';
  const setup = readSetup(process.env);
  const name = framework === null ? 'no known framework' : `${framework} ${frameworkVersion}`;
  const facts = {
    app: [name, orm, packageManager].filter((part) => part !== null).join(', '),
    database: setup.database,
    tables: (await findTables()).join(' and '),
    sessions: signing
      ? `signed in ${signing}`
      : 'no code was found that signs the cookie session with HS256',
    profile: hasProfile ? 'GET /api/user' : `${whyOff}: only subscriptions are kept in sync`,
  };
  printData(facts, {});
  const way = await chooseWay(app, options);
  const plan = planFor(app, way, hasProfile, options);
  const installs = packageManager !== null && !('instep' in app.dependencies);
  const complete = withVariables(app, plan, variables);
  const all = changesOf(app, complete, { way, installed: installs });
  print(`\n${diffText(all) || 'No file of the app has to be changed.'}`);
  for (const { text, lines } of complete.remarks) {
    print(`\n${paint('bold', 'For you:')} ${printable(text)}`);
    if (lines) print(`\n${printableLines(lines).replace(/^(?=.)/gm, '    ')}`);
  }
  if (all.length > 0 || installs) {
    print('\nIt also creates the schema instep in the database.');
    await carryOut(app, all, installs ? 'add' : null, options);
    print(`Applied, and recorded in ${RECORD}.`);
  }
  await checkInstallation();
  printSteps(app, way, plan, setup.consoleUrl);
}

/** Those of the variables that only this shell or the command has set: another shell would not have them. */
function missingIn({ read }: App, names: readonly string[]): readonly string[] {
  const files = ['.env.local', '.env'].map((path) => parseEnv(read(path) ?? ''));
  const missing = names.filter((name) => files.every((file) => !file[name]));
  return missing.map((name) => `${name}=${process.env[name]}`);
}

/** With the variables in the app's file, as its first lines, so that all commands read them. */
function withVariables(app: App, plan: Plan, variables: readonly string[]): Plan {
  if (variables.length === 0) return plan;
  const { files, remarks } = plan;
  const path = app.read('.env.local') === null ? '.env' : '.env.local';
  const before = app.read(path);
  const text = files.find((one) => one.path === path)?.after ?? before ?? '';
  const after = [...variables, text].join(text.includes('\r\n') ? '\r\n' : '\n');
  const set = `where you deploy Instep, set ${variables.join(' and ')} as well (docs/start.md)`;
  return {
    files: [...files.filter((one) => one.path !== path), { path, before, after }],
    remarks: [...remarks, { text: set }],
  };
}

async function chooseWay(app: App, options: InitOptions): Promise<Way> {
  const { inside = options.serverless, beside } = options;
  const earlier = readRecord(app)?.way;
  const given = inside ? 'inside' : beside ? 'beside' : earlier;
  if (earlier !== undefined && given !== earlier) {
    throw new InitRefused(`Instep is ${earlier} this app: run \`npx instep init --undo\` first`);
  }
  if (app.framework === null && inside) {
    throw new InitRefused('package.json has no Next.js, Express, Fastify or Hono: use --beside');
  }
  if (given !== undefined) return given;
  if (app.framework === null) return 'beside';
  print('\nInside, Instep starts and ends with your app. Beside, it is a process of its own.');
  for (;;) {
    const answer = await ask('Run it inside or beside the app? [inside] ', '--inside or --beside');
    if (answer === '' || answer === 'inside') return 'inside';
    if (answer === 'beside') return 'beside';
  }
}

const SERVERLESS_FILES = ['vercel.json', '.vercel/project.json', 'netlify.toml', 'amplify.yml'];

function planFor(app: App, way: Way, hasProfile: boolean, { serverless }: InitOptions): Plan {
  if (app.framework === 'Next.js') {
    const isServerless = serverless ?? SERVERLESS_FILES.some((file) => app.read(file) !== null);
    return planNextjs(app, way, isServerless, hasProfile);
  }
  if (app.framework !== null && way === 'inside') {
    return planNodeApp(app, app.framework, hasProfile);
  }
  const paths = hasProfile ? `${USER_PATH} and ${WEBHOOK_PATH}` : WEBHOOK_PATH;
  const text = `let your proxy pass ${paths} on to Instep (docs/deploy/proxy.md)`;
  return { files: [], remarks: [{ text }] };
}

/** Makes the changes after consent, and runs the package manager. @throws InitRefused with everything as before */
async function carryOut(
  app: App,
  all: readonly FileChange[],
  verb: 'add' | 'remove' | null,
  { yes }: InitOptions,
): Promise<void> {
  const command = `${app.packageManager} ${verb} instep${verb === 'add' ? `@${VERSION}` : ''}`;
  if (verb !== null) print(`It also runs \`${command}\`.`);
  const answer = yes ? 'y' : await ask('\nApply this? [y/N] ', '--yes');
  if (!/^y(?:es)?$/i.test(answer)) throw new InitRefused('nothing was changed');
  writeAll(app, all);
  if (verb === null) return;
  // A shell, because on Windows these programs are scripts. The command has no text of the user's.
  const child = spawn(command, { stdio: 'inherit', shell: true });
  const code = await once(child, 'close').then(([code]) => code, String);
  if (code === 0) return;
  writeAll(
    app,
    all.map((change) => ({ ...change, before: change.after, after: change.before })),
  );
  throw new InitRefused(`nothing was changed, because \`${command}\` failed (${code})`);
}

/** @throws InitRefused without a terminal, or when the user ends it */
async function ask(question: string, option: string): Promise<string> {
  if (!process.stdin.isTTY) throw new InitRefused(`nothing was changed: add ${option}`);
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const ended = once(lines, 'close').then(() => null);
  // Ctrl-C rejects it in newer versions of Node.js. In older ones, and after Ctrl-D, it stays pending.
  const answered = lines.question(question).catch(() => null);
  const answer = await Promise.race([answered, ended]);
  lines.close();
  if (answer === null) throw new InitRefused('nothing was changed');
  return answer.trim();
}

function printSteps(app: App, way: Way, plan: Plan, consoleUrl: string | null): void {
  const { scripts, packageManager, dependencies, framework } = app;
  const address = framework === 'Next.js' ? addressOf(app, WEBHOOK_PATH) : WEBHOOK_PATH;
  const script = ['dev', 'start'].find((name) => name in scripts);
  const start = script === undefined ? 'your app' : `\`${packageManager} run ${script}\``;
  const hasPort =
    process.env.PORT === PORT || plan.files.some(({ path }) => path.startsWith('.env'));
  const serve = hasPort ? 'npx instep serve' : `PORT=${PORT} npx instep serve`;
  const forward =
    way === 'inside' ? `127.0.0.1:3000${address}` : `127.0.0.1:${PORT}${WEBHOOK_PATH}`;
  const consoleSteps = [
    ...('instep-console' in dependencies
      ? []
      : [`\`${packageManager ?? 'npm'} add instep-console\``]),
    ...(way === 'inside' ? ['`npx instep console`'] : []),
  ];
  const steps = [
    way === 'inside' ? `Start ${start}.` : `Start \`${serve}\`, and ${start} in another terminal.`,
    `While you develop, \`stripe listen --forward-to ${forward} --events ${HANDLED_TYPES}\` prints the STRIPE_WEBHOOK_SECRET to set.`,
    `When you go live, register https://your.app${address} for these two types at Stripe (Developers, Webhooks).`,
    consoleUrl &&
      `The console is at ${consoleUrl}${consoleSteps.length > 0 ? ` after ${consoleSteps.join(' and ')}` : ''}.`,
    '`npx instep init --undo` reverses all this.',
  ];
  const lines = steps.filter(Boolean).map((step, index) => `  ${index + 1}. ${step}`);
  print(`\n${paint('bold', 'What is next')}\n\n${lines.join('\n')}`);
}

async function undoInit(options: InitOptions): Promise<void> {
  const app = readApp(process.cwd());
  const record = readRecord(app);
  if (record === null) throw new InitRefused(`there is nothing to undo: no ${RECORD}`);
  const all = planUndo(app, record);
  print(`${diffText(all)}\n`);
  const removes = record.installed && 'instep' in app.dependencies;
  await carryOut(app, all, removes ? 'remove' : null, options);
  print(
    'Undone. `drop schema instep cascade;` deletes what Instep stored in the database, and all other tables in that schema.',
  );
}
