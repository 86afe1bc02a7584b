import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { Command } from 'commander';
import { destination } from 'pino';
import { type Config, readConfig } from '../config.ts';
import type { Query } from '../database/database.ts';
import { ListenFailed, type RunningServer } from '../http/listener.ts';
import { type ListenOptions, listen } from '../http/server.ts';
import { openInstep } from '../instep.ts';
import { createLogger } from '../logging.ts';
import { SESSION_COOKIE } from '../sessions/cookie.ts';
import { issueSession, secretKeys } from '../sessions/token.ts';
import { startStripeApiServer } from '../simulation/stripe-api/server.ts';
import { addTeam, readTeam } from '../store/teams.ts';
import { addUser } from '../store/users.ts';
import { signWebhook } from '../stripe/sign-webhook.ts';
import type { TeamPlan } from '../subscriptions/transition.ts';
import { demoScenes, PRODUCT_NAMES, type Scene } from './demo-scenes.ts';
import { paint } from './output.ts';
import { planHead, planRow } from './plan-table.ts';
import { nextSignal } from './signals.ts';

const PORTS_TO_TRY = 100;
const DAY_MS = 24 * 60 * 60 * 1_000;

export function demoCommand(): Command {
  return new Command('demo')
    .description('watch signed events change a team, on a database of its own')
    .option('--once', 'end afterwards instead of staying up')
    .addHelpText('after', '\nExample:\n  instep demo --once')
    .action(demo);
}

async function demo({ once }: { once?: boolean }): Promise<void> {
  const dataFolder = resolve(process.env.INSTEP_DATA || './data', 'demo');
  mkdirSync(dataFolder, { recursive: true });
  const logFile = resolve(dataFolder, 'server.log');
  const logger = createLogger('info', destination({ dest: logFile, sync: true }));

  const ends: (() => Promise<void>)[] = [];
  try {
    const stripe = await startStripeApiServer({ productNames: PRODUCT_NAMES });
    ends.push(() => stripe.close());
    const config = demoConfig(dataFolder, stripe.url);
    const instep = await openInstep({ config, logger });
    ends.push(() => instep.close());
    const signalled = nextSignal();
    const server = await listenSomewhere({ ...config, ...instep, logger, now: Date.now });
    ends.push(() => server.close(config.shutdownDeadlineMs));

    print(`\n${bold('Instep')} at ${server.url}, on a database of its own in ${shown(dataFolder)}`);
    const cast = await createCast(instep.query, config);
    await showProfile(server.url, cast.cookie);
    await showEvents(server.url, instep.query, cast, config);
    showNextSteps({ server, cast, config, logFile });
    if (!once) {
      print('\nUp until Ctrl-C.');
      await signalled;
    }
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** Secrets that live as long as the demonstration does. */
function demoConfig(dataFolder: string, apiBase: string): Config {
  const random = () => randomBytes(24).toString('hex');
  return readConfig({
    STRIPE_SECRET_KEY: `sk_test_${random()}`,
    STRIPE_WEBHOOK_SECRET: `whsec_${random()}`,
    AUTH_SECRET: random(),
    STRIPE_API_BASE: apiBase,
    INSTEP_DATA: dataFolder,
    PORT: process.env.PORT,
    HOST: process.env.HOST,
  });
}

/** At the configured port, or the next free one. */
async function listenSomewhere(options: ListenOptions): Promise<RunningServer> {
  const { port } = options;
  for (let offset = 0; ; offset += 1) {
    try {
      return await listen({ ...options, port: port + offset });
    } catch (error) {
      if (!(error instanceof ListenFailed) || !error.isTaken || offset === PORTS_TO_TRY)
        throw error;
      print(`Port ${port + offset} is taken: trying ${port + offset + 1}.`);
    }
  }
}

/** Whom the demonstration is about. */
type Cast = {
  readonly userId: number;
  readonly teamId: number;
  readonly customerId: string;
  readonly cookie: string;
};

async function createCast(query: Query, { authSecrets }: Config): Promise<Cast> {
  const suffix = randomBytes(3).toString('hex');
  const customerId = `cus_${suffix}`;
  const { id: userId } = await addUser(query, {
    name: 'Ada',
    email: `ada.${suffix}@example.com`,
    passwordHash: '!',
    role: 'owner',
  });
  const teamId = await addTeam(query, { name: `Ada's team ${suffix}`, customerId });
  const [key] = secretKeys(authSecrets);
  if (key === undefined) throw new RangeError('the configuration has no secret');
  const token = await issueSession(userId, key, { nowMs: Date.now(), lifetimeMs: DAY_MS });
  return { userId, teamId, customerId, cookie: `${SESSION_COOKIE}=${token}` };
}

async function showProfile(url: string, cookie: string): Promise<void> {
  print(`\n${bold('Who is signed in?')}  GET /api/user`);
  const anonymous = await fetch(`${url}/api/user`);
  print(`  without a cookie         ${anonymous.status} ${await anonymous.text()}`);
  const signedIn = await fetch(`${url}/api/user`, { headers: { cookie } });
  print(`  with Ada's session       ${signedIn.status} ${await signedIn.text()}`);
}

async function showEvents(url: string, query: Query, cast: Cast, config: Config): Promise<void> {
  print(`\n${bold('What plan has the team?')}  POST /api/stripe/webhook`);
  print(`\n    ${planHead()}`);
  let before = await readPlan(query, cast.teamId);
  print(`    ${planRow(before, before)}`);
  const startSeconds = Math.floor(Date.now() / 1_000) - 100;
  for (const [index, scene] of demoScenes(cast.customerId, startSeconds).entries()) {
    const response = await post(url, scene, config);
    const after = await readPlan(query, cast.teamId);
    print(
      `\n ${index + 1}. ${scene.title}  ${gray(`${response.status} ${await response.text()}`)}`,
    );
    print(`    ${planRow(after, before)}`);
    before = after;
  }
}

async function post(url: string, { body, isForged }: Scene, config: Config): Promise<Response> {
  const secret = isForged ? 'whsec_of_somebody_else' : config.webhookSecrets[0];
  return await fetch(`${url}/api/stripe/webhook`, {
    method: 'POST',
    headers: { 'Stripe-Signature': signWebhook(body, secret, Date.now()) },
    body,
  });
}

async function readPlan(query: Query, teamId: number): Promise<TeamPlan> {
  const team = await readTeam(query, teamId);
  if (team === null) throw new RangeError(`team ${teamId} is gone`);
  return team.plan;
}

type NextSteps = {
  readonly server: RunningServer;
  readonly cast: Cast;
  readonly config: Config;
  readonly logFile: string;
};

function showNextSteps({ server: { url }, cast, config, logFile }: NextSteps): void {
  const { port } = new URL(url);
  const data = `INSTEP_DATA=${shown(config.dataFolder)}`;
  const secret = `STRIPE_WEBHOOK_SECRET=${config.webhookSecrets[0]}`;
  print(`
${bold('What to try next')}, from this folder in another terminal

  curl -i ${url}/api/user -b '${cast.cookie}'
  curl -i ${url}/api/stripe/webhook -d '{"type":"customer.subscription.deleted"}'
  ${secret} PORT=${port} \\
    npx instep trigger customer.subscription.updated --customer ${cast.customerId} --product prod_pro
  ${data} npx instep team show ${cast.teamId}

  The server's log: ${shown(logFile)}`);
}

function shown(path: string): string {
  return relative('', path) || '.';
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

const bold = (text: string) => paint('bold', text);
const gray = (text: string) => paint('gray', text);
