import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { Command } from 'commander';
import { destination } from 'pino';
import { type Config, readConfig } from '../../config/config.ts';
import type { TeamPlan } from '../../core/transition.ts';
import { openInstep } from '../../instep.ts';
import {
  OPERATIONS_DEADLINE_MS,
  type Operations,
  type OperationsOptions,
  openOperations,
} from '../../operations/open-operations.ts';
import type { Query } from '../../postgres/database.ts';
import { readTeam } from '../../queries/teams.ts';
import { createLogger } from '../../runtime/logging.ts';
import { listen } from '../../server/server.ts';
import { signWebhook } from '../../testing/sign-webhook.ts';
import { Collection } from '../../testing/stripe-api/collection.ts';
import { startStripeApiServer } from '../../testing/stripe-api/server.ts';
import { paint } from '../output.ts';
import { planHead, planRow } from '../plan-table.ts';
import { nextSignal } from '../signals.ts';
import { beginLife } from './activity.ts';
import { rememberEarlier } from './earlier-runs.ts';
import { atNextFreePort } from './next-free-port.ts';
import { type Cast, createCast } from './signed-in-team.ts';
import { demoScenes, inTrueOrder, PRODUCT_NAMES } from './walkthrough.ts';

/** Until then an event is answered, or it is sent again. */
const POST_DEADLINE_MS = 15_000;

export function demoCommand(): Command {
  return new Command('demo')
    .description('watch signed events change a team, on a database of its own')
    .option('--once', 'end afterwards instead of staying up')
    .addHelpText('after', '\nExample:\n  instep demo --once')
    .action(demo);
}

async function demo({ once = false }: { once?: boolean }): Promise<void> {
  const dataFolder = resolve(process.env.INSTEP_DATA || './data', 'demo');
  mkdirSync(dataFolder, { recursive: true });
  const logFile = resolve(dataFolder, 'server.log');
  const logger = createLogger('info', destination({ dest: logFile, sync: true }));
  const now = Date.now;
  const objects = { subscriptions: new Collection(), customers: new Collection() };

  const ends: (() => Promise<unknown>)[] = [];
  try {
    const stripe = await startStripeApiServer({ productNames: PRODUCT_NAMES, ...objects });
    ends.push(() => stripe.close());
    const config = demoConfig(dataFolder, stripe.url);
    const instep = await openInstep({ config, logger });
    ends.push(() => instep.close());
    await rememberEarlier(instep.query, objects);
    const signalled = nextSignal();
    const server = await atNextFreePort(config.port, {
      listenAt: (port) => listen({ host: config.host, port, handle: instep.handle, logger }),
      onTaken,
    });
    ends.push(() => server.close(config.shutdownDeadlineMs));

    print(`\n${bold('Instep')} at ${server.url}, on a database of its own in ${shown(dataFolder)}`);
    const cast = await createCast(instep.query, config);
    const { subscriptions } = objects;
    const stage = { url: server.url, query: instep.query, subscriptions, cast, config };
    await showProfile(stage);
    if (once) {
      await showEvents(stage);
      return showNextSteps(stage, { logFile });
    }
    const life = await beginLife({
      ...instep,
      subscriptions,
      suffix: cast.suffix,
      seed: now(),
      startMs: now(),
    });
    await showEvents(stage);
    const operations = await openConsole(config, { logger, now });
    if (operations !== null) {
      ends.push(() => operations.close(OPERATIONS_DEADLINE_MS));
      await operations.show(instep.databaseServer, instep.metrics);
    }
    showNextSteps(stage, { logFile, consoleUrl: operations?.url });
    const stop = new AbortController();
    void signalled.then(() => stop.abort());
    print('\nSome companies live their lives there, until Ctrl-C.');
    await life.goOn({ deliver: (body) => deliver(stage, body), now, signal: stop.signal });
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
    OPS_PORT: process.env.OPS_PORT,
    OPS_HOST: process.env.OPS_HOST,
    OPS_TOKEN: process.env.OPS_TOKEN,
  });
}

function onTaken(port: number, next: number): void {
  print(`Port ${port} is taken: trying ${next}.`);
}

async function openConsole(
  config: Config,
  options: Omit<OperationsOptions, 'config'>,
): Promise<Operations | null> {
  const { operations } = config;
  if (operations === null) return null;
  return await atNextFreePort(operations.port, {
    listenAt: (port) =>
      openOperations({ ...options, config: { ...config, operations: { ...operations, port } } }),
    onTaken,
  });
}

/** Where the demonstration takes place. */
type Stage = {
  readonly url: string;
  readonly query: Query;
  readonly config: Config;
  /** Those of Stripe's stand-in. */
  readonly subscriptions: Collection;
  readonly cast: Cast;
};

async function showProfile({ url, cast: { cookie } }: Stage): Promise<void> {
  print(`\n${bold('Who is signed in?')}  GET /api/user`);
  const anonymous = await fetch(`${url}/api/user`);
  print(`  without a cookie         ${anonymous.status} ${await anonymous.text()}`);
  const signedIn = await fetch(`${url}/api/user`, { headers: { cookie } });
  print(`  with Ada's session       ${signedIn.status} ${await signedIn.text()}`);
}

async function showEvents({ url, query, config, subscriptions, cast }: Stage): Promise<void> {
  print(`\n${bold('What plan has the team?')}  POST /api/stripe/webhook`);
  print(`\n    ${planHead()}`);
  let before = await readPlan(query, cast.teamId);
  print(`    ${planRow(before, before)}`);
  const startSeconds = Math.floor(Date.now() / 1_000) - 100;
  const scenes = demoScenes(cast.suffix, startSeconds);
  for (const event of inTrueOrder(scenes)) subscriptions.set(event.data.object);
  for (const [index, { title, event, isForged = false }] of scenes.entries()) {
    const secret = isForged ? 'whsec_of_somebody_else' : config.webhookSecrets[0];
    const response = await post(url, JSON.stringify(event), secret);
    const after = await readPlan(query, cast.teamId);
    print(`\n ${index + 1}. ${title}  ${gray(`${response.status} ${await response.text()}`)}`);
    print(`    ${planRow(after, before)}`);
    before = after;
  }
}

async function post(url: string, body: string, secret: string): Promise<Response> {
  return await fetch(`${url}/api/stripe/webhook`, {
    method: 'POST',
    headers: { 'Stripe-Signature': signWebhook(body, secret, Date.now()) },
    body,
    signal: AbortSignal.timeout(POST_DEADLINE_MS),
  });
}

/** Whether it was answered 200. If not, it is sent again. */
async function deliver({ url, config }: Stage, body: string): Promise<boolean> {
  const response = await post(url, body, config.webhookSecrets[0]);
  await response.arrayBuffer();
  return response.status === 200;
}

async function readPlan(query: Query, teamId: number): Promise<TeamPlan> {
  const team = await readTeam(query, teamId);
  if (team === null) throw new RangeError(`team ${teamId} is gone`);
  return team.plan;
}

type NextSteps = {
  readonly logFile: string;
  readonly consoleUrl?: string | undefined;
};

function showNextSteps({ url, cast, config }: Stage, { logFile, consoleUrl }: NextSteps): void {
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
  if (consoleUrl === undefined) return;
  print(`
${bold('Console')}: ${consoleUrl}/

  Why has ${cast.teamName} no plan? Click Teams, then the team: its page tells.
  Whose payment was never told? Click Reconcile, then start a dry run.`);
}

function shown(path: string): string {
  return relative('', path) || '.';
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

const bold = (text: string) => paint('bold', text);
const gray = (text: string) => paint('gray', text);
