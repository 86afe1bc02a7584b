import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { signWebhook } from 'instep/testing';
import { atEndOfFile } from '../end-of-file.ts';
import { checkOutput } from '../secrets/leaks.ts';
import { API_KEY, AUTH_SECRET, HEADERS, WEBHOOK_SECRET } from '../secrets/test-secrets.ts';

export const PROGRAM = new URL('../../../packages/instep/dist/cli/instep.js', import.meta.url)
  .pathname;

type Environment = Readonly<Record<string, string>>;

/**
 * The settings that the server needs besides a database. No API listens at this address, so nothing is
 * compared with Stripe.
 */
export const SETTINGS: Environment = {
  STRIPE_SECRET_KEY: API_KEY,
  STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
  AUTH_SECRET,
  STRIPE_API_BASE: 'http://127.0.0.1:1',
  RECONCILE_INTERVAL: 'off',
  PORT: '0',
  OPS_PORT: 'off',
};

/**
 * Creates a folder in which a process finds no `.env` file, unless a test writes one. The user of an embedded
 * PostgreSQL can enter it, because the files would otherwise go elsewhere.
 */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'instep-cwd-'));
  chmodSync(folder, 0o755);
  atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type InstepOptions = {
  /** The working directory; by default, a new folder. */
  readonly folder?: string | undefined;
  /** Whether standard input stays open. By default it is empty. */
  readonly hasInput?: boolean;
};

type LogLine = Readonly<Record<string, unknown>>;

/** Starts the real command, without the environment of the tests, and does not wait for its end. */
export function spawnInstep(
  args: readonly string[],
  environment: Environment,
  { folder = createFolder(), hasInput = false }: InstepOptions = {},
) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, TMPDIR: tmpdir(), ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A failed test doesn't stop its own processes.
  atEndOfFile(() => child.kill('SIGKILL'));
  if (!hasInput) child.stdin.end();
  const written = { stdout: '', stderr: '' };
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
    });
    onLine(child[name], (line) => {
      checkOutput(args, line);
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  // Resolves only after all output has been read.
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => ({
    ...{ code: code ?? signal ?? 'unknown', ...written },
  }));
  const exited = ended.then(({ code }) => (typeof code === 'number' ? code : null));

  return {
    process: child,
    /** Every line so far, of standard output and standard error. */
    lines,
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    /** Resolves with its output, and its exit code or the signal that ended it. */
    ended,
    /** Resolves with its exit code. */
    exited,
    /** Sends the signal; resolves with the exit code. */
    stop(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
    /** Waits until standard output matches. */
    async writes(pattern: RegExp) {
      while (!pattern.test(written.stdout)) {
        const end = await Promise.race([once(child.stdout, 'data'), exited]);
        if (!Array.isArray(end)) throw new Error(`exit ${end}:\n${written.stderr}`);
      }
    },
    /** Waits for a line with these members. */
    logged(members: LogLine): Promise<LogLine> {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = lines
            .filter((line) => line.startsWith('{'))
            .map((line) => JSON.parse(line));
          const match = found.find((line) => contains(line, members));
          if (match === undefined) return;
          waiting.delete(look);
          resolve(match);
        };
        waiting.add(look);
        look();
        void exited.then((code) => reject(new Error(`exit ${code}:\n${lines.join('\n')}`)));
      });
    },
  };
}

/** Runs the real command until it exits, by default in a new folder. */
export async function runInstep(
  args: readonly string[],
  environment: Environment = {},
  folder?: string,
) {
  const child = spawnInstep(args, environment, { folder });
  const late = setTimeout(() => child.process.kill(), 30_000);
  const ended = await child.ended;
  clearTimeout(late);
  return ended;
}

/** Posts a body to a server, signed as Stripe signs it. */
export function postSigned(url: string, body: string, init: RequestInit = {}): Promise<Response> {
  return fetch(webhookRequest(body, WEBHOOK_SECRET, url), init);
}

/** A request with this body to the webhook endpoint, signed as Stripe signs it. */
export function webhookRequest(
  body: string,
  secret = WEBHOOK_SECRET,
  url = 'http://localhost',
): Request {
  const signature = { 'stripe-signature': signWebhook(body, secret, Date.now()) };
  const headers = { ...HEADERS, ...signature };
  return new Request(`${url}/api/stripe/webhook`, { method: 'POST', headers, body });
}

export type InstepProcess = Awaited<ReturnType<typeof startInstep>>;

/** Starts the real server, with `SETTINGS` unless the environment says otherwise, and waits until it listens. */
export async function startInstep(environment: Environment, options: InstepOptions = {}) {
  const spawned = spawnInstep(['serve'], { ...SETTINGS, ...environment }, options);
  const url = String((await spawned.logged({ msg: 'listening' })).url);
  return Object.assign(spawned, {
    url,
    /** Posts a body, signed as Stripe signs it. */
    post: (body: string, init?: RequestInit) => postSigned(url, body, init),
  });
}

/** Only a line feed ends a line, so that no other character can forge one. */
function onLine(stream: Readable, handle: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) handle(line);
  });
  stream.on('end', () => {
    if (rest !== '') handle(rest);
  });
}

function contains(line: LogLine, members: LogLine): boolean {
  return Object.entries(members).every(
    ([name, value]) => JSON.stringify(line[name]) === JSON.stringify(value),
  );
}

/** The JSON lines in a command's output. */
export function jsonLines<Line = Record<string, unknown>>(stdout: string): Line[] {
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line));
}
