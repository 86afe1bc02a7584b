// The demo: a server with a database of its own, and what it prints meanwhile.

import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Command } from 'commander';
import { issueSession, listen, SESSION_COOKIE } from 'instep-engine/http';
import { type ApplicationId, addTeam, addUser, type Query, readTeam } from 'instep-engine/postgres';
import { CONTRACT_FIELDS, isSamePlan, NO_PLAN, type Plan } from 'instep-engine/rule';
import { createLogger } from 'instep-engine/runtime';
import { type Config, ConfigInvalid, readConfig } from '../../config/config.ts';
import { emptyDatabase, openDatabase } from '../../database/connect.ts';
import { openService } from '../../instep.ts';
import { openOperations } from '../../operators-listener/open-operations.ts';
import { type ApiCollection, startFakeStripeApi } from '../../testing/fake-stripe-api.ts';
import { type SubscriptionEvent, signedRequest } from '../../testing/stripe-objects.ts';
import { createCommand } from '../arguments.ts';
import { type Columns, nextSignal, paint, print, tableHead, tableLine } from '../output.ts';
import { addCompanies, inTrueOrder, PRODUCT_NAMES, starterPlan, walkthrough } from './scenes.ts';

const POST_DEADLINE_MS = 15_000;
const EMPTYING_TIMEOUT_MS = 60_000;

export function demoCommand(): Command {
  return createCommand(
    'demo',
    'watch signed events change a team, in a separate database',
    'instep demo --once',
  )
    .option('--once', 'exit after the walkthrough')
    .action(demo);
}

async function demo({ once = false }: { once?: boolean }): Promise<void> {
  const dataFolder = resolve(process.env.INSTEP_DATA || './data', 'demo');
  mkdirSync(dataFolder, { recursive: true });
  const logFile = resolve(dataFolder, 'server.log');
  const logger = createLogger('info', { write: (line) => appendFileSync(logFile, line) });

  const closers: (() => Promise<unknown>)[] = [];
  try {
    const stripe = await startFakeStripeApi({ productNames: PRODUCT_NAMES });
    closers.push(() => stripe.close());
    const authSecret = random();
    const config = demoConfig(dataFolder, stripe.url, authSecret);
    const opened = await openDatabase(config.database, {
      ...{ migratesEmbedded: false, statementTimeoutMs: EMPTYING_TIMEOUT_MS },
      notice: (message) => logger.info(message),
      onConnectionError: () => undefined,
    });
    closers.push(() => opened.close());
    // What an earlier run left would be issues of this one.
    if (!(await emptyDatabase(opened.database.query))) {
      const problem = `has a demo in ${shorten(dataFolder)} that is still running`;
      const remedy = 'end it, or set another folder';
      throw new ConfigInvalid([{ variable: 'INSTEP_DATA', problem, remedy }]);
    }
    const instep = await openService({ config, logger });
    closers.push(() => instep.close());
    const { query, ingestEvents: ingest, handle } = instep;
    const ending = nextSignal();
    const server = await listen({ host: config.host, port: config.port, handle, logger });
    closers.push(() => server.close(config.shutdownDeadlineMs));

    print(`\n${bold('Instep')} at ${server.url}, with its own database in ${shorten(dataFolder)}`);
    const { subscriptions } = stripe;
    const added = await addSignedInTeam(query, authSecret);
    const running = { url: server.url, query, subscriptions, config, logFile, ...added };
    await showProfile(running);
    if (!once) await addCompanies({ ...running, ingest, endMs: Date.now() });
    await showEvents(running);
    if (once) return;
    const console = await openOperations(config.operations, logger);
    if (console) {
      closers.push(() => console.close());
      await console.show(instep.openContext(), await instep.startMetrics());
    }
    showNextSteps(running, console?.url);
    await ending;
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** A secret that is valid for one run. */
const random = () => randomBytes(24).toString('hex');

function demoConfig(dataFolder: string, apiBase: string, authSecret: string): Config {
  const { PORT, HOST, OPS_PORT, OPS_HOST, OPS_TOKEN, OPS_TOKENS } = process.env;
  return readConfig({
    STRIPE_SECRET_KEY: `sk_test_${random()}`,
    STRIPE_WEBHOOK_SECRET: `whsec_${random()}`,
    AUTH_SECRET: authSecret,
    STRIPE_API_BASE: apiBase,
    // The stand-in for Stripe already has the final state of every scene, which reconciliation would apply.
    RECONCILE_INTERVAL: 'off',
    DATABASE_URL: 'embedded',
    INSTEP_DATA: dataFolder,
    ...{ PORT, HOST, OPS_PORT, OPS_HOST, OPS_TOKEN, OPS_TOKENS },
  });
}

type RunningDemo = {
  url: string;
  query: Query;
  config: Config;
  subscriptions: ApiCollection;
  logFile: string;
} & SignedInTeam;

async function showProfile({ url, cookie }: RunningDemo): Promise<void> {
  print(`\n${bold('Who is signed in?')}  GET /api/user`);
  const anonymous = await fetch(`${url}/api/user`);
  print(`  without a cookie         ${anonymous.status} ${await anonymous.text()}`);
  const signedIn = await fetch(`${url}/api/user`, { headers: { cookie } });
  print(`  with Ada's session       ${signedIn.status} ${await signedIn.text()}`);
}

/** With room for the last column in 80 characters. */
const COLUMNS: Columns = [
  ['status', 10],
  ['plan', 9],
  ['product', 14],
  ['subscription', 12],
  ["the starter's handler", 0],
];

/** A team's plan. Values that differ from `before` are marked and colored. */
function planCells(plan: Plan, before: Plan): string[] {
  return CONTRACT_FIELDS.map((field) => {
    const text = plan[field] ?? '-';
    return text === (before[field] ?? '-') ? text : paint(['bold', 'green'], `${text} *`);
  });
}

async function showEvents(demo: RunningDemo): Promise<void> {
  const { query, subscriptions, teamId, customerId } = demo;
  print(`\n${bold('Which plan does the team have?')}  POST /api/stripe/webhook`);
  print('  On the right: what the handler of nextjs/saas-starter makes of the same events');
  print(`\n    ${tableHead(COLUMNS)}`);
  let before = await readPlan(query, teamId);
  let starter = NO_PLAN;
  print(`    ${tableLine(COLUMNS, [...planCells(before, before), '='])}`);
  const scenes = walkthrough(Math.floor(Date.now() / 1_000) - 100);
  for (const event of inTrueOrder(scenes)) subscriptions.set(event.data.object);
  for (const [index, { title, event, isForged = false }] of scenes.entries()) {
    const secret = isForged ? 'whsec_that_is_wrong' : undefined;
    const { status, text } = await post(demo, event, secret);
    const after = await readPlan(query, teamId);
    const isOurs = event.data.object.customer === customerId;
    // The starter's checkout writes the first plan, with its name.
    if (index === 0) starter = after;
    else if (isOurs && !isForged) starter = starterPlan(starter, event);
    const beside = isOurs ? besidePlan(starter, after) : wrong('event lost');
    print(`\n ${index + 1}. ${title}  ${gray(`${status} ${text}`)}`);
    print(`    ${tableLine(COLUMNS, [...planCells(after, before), beside])}`);
    before = after;
  }
}

function besidePlan(starter: Plan, plan: Plan): string {
  if (isSamePlan(starter, plan)) return '=';
  const { planName, providerProductId, subscriptionStatus } = starter;
  return wrong(`${planName ?? subscriptionStatus}, ${providerProductId ?? 'no plan'}`);
}

async function post(
  { url, config }: RunningDemo,
  event: SubscriptionEvent,
  secret = config.webhookSecrets[0],
): Promise<{ status: number; text: string }> {
  const signal = AbortSignal.timeout(POST_DEADLINE_MS);
  const request = { ...signedRequest(event, secret), signal };
  const response = await fetch(`${url}/api/stripe/webhook`, request);
  return { status: response.status, text: await response.text() };
}

async function readPlan(query: Query, teamId: ApplicationId): Promise<Plan> {
  const team = await readTeam(query, teamId);
  if (team === null) throw new RangeError(`team ${teamId} is gone`);
  return { ...NO_PLAN, ...team.plan };
}

function showNextSteps(demo: RunningDemo, consoleUrl?: string): void {
  const { url, cookie, customerId, config, teamId, logFile } = demo;
  const { port } = new URL(url);
  const data = `INSTEP_DATA=${shorten(config.database.dataFolder)}`;
  print(`
${bold('What to try next')}, from this folder in another terminal, until you press Ctrl-C here

  curl -i ${url}/api/user -b '${cookie}'
  curl -i ${url}/api/stripe/webhook -d '{"type":"customer.subscription.deleted"}'
  STRIPE_WEBHOOK_SECRET=${config.webhookSecrets[0]} PORT=${port} \\
    ${data} npx instep trigger customer.subscription.updated --customer ${customerId} --product prod_pro
  ${data} npx instep team show ${teamId}

  Server log: ${shorten(logFile)}`);
  if (consoleUrl !== undefined)
    print(`\n${bold('Console')}, also with thirty invented companies: ${consoleUrl}/`);
}

function shorten(path: string): string {
  return relative('', path) || '.';
}

const bold = (text: string) => paint('bold', text);
const gray = (text: string) => paint('gray', text);
const wrong = (text: string) => paint('red', `✗ ${text}`);

type SignedInTeam = {
  teamId: ApplicationId;
  customerId: string;
  cookie: string;
};

const DAY_MS = 24 * 60 * 60 * 1_000;

async function addSignedInTeam(query: Query, authSecret: string): Promise<SignedInTeam> {
  const customerId = 'cus_ada';
  const { id: userId } = await addUser(query, {
    name: 'Ada',
    email: 'ada@example.com',
    passwordHash: '!',
    role: 'owner',
  });
  const teamId = await addTeam(query, { name: "Ada's team", customerId });
  const lifetime = { nowMs: Date.now(), lifetimeMs: DAY_MS };
  const token = await issueSession(userId, authSecret, lifetime);
  return { teamId, customerId, cookie: `${SESSION_COOKIE}=${token}` };
}
