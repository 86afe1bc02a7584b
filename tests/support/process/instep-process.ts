import { type ChildProcess, execFile, spawn } from 'node:child_process';
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

/** Options that exclude the environment of the tests. */
function processOptions(environment: Environment, folder = createFolder()) {
  return { cwd: folder, env: { PATH: process.env.PATH, TMPDIR: tmpdir(), ...environment } };
}

function spawnCommand(
  args: readonly string[],
  options: ReturnType<typeof processOptions>,
  program = PROGRAM,
) {
  const child = spawn(process.execPath, [program, ...args], {
    ...options,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    onLine(stream, (line) => checkOutput(args, line));
  }
  // A failed test doesn't stop its own processes.
  atEndOfFile(() => child.kill('SIGKILL'));
  return child;
}

export type Ended = {
  /** The exit code, or the signal that ended it. */
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
};

/** Runs the real command until it exits, by default in a new folder. */
export function runInstep(
  args: readonly string[],
  environment: Environment = {},
  folder?: string,
): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { ...processOptions(environment, folder), timeout: 30_000 };
    execFile(process.execPath, [PROGRAM, ...args], options, (error, stdout, stderr) => {
      checkOutput(args, stdout);
      checkOutput(args, stderr);
      const code = error === null ? 0 : (error.code ?? error.signal ?? 'unknown');
      resolve({ code, stdout, stderr });
    });
  });
}

export type SpawnedInstep = {
  readonly process: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  /** Waits until standard output matches. */
  writes(pattern: RegExp): Promise<void>;
  /** Resolves with its exit code. */
  readonly exited: Promise<number | null>;
  /** Sends the signal; resolves with the exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
};

/** Starts the real command without waiting for its end. Its standard input is empty, unless it stays open. */
export function spawnInstep(
  args: readonly string[],
  environment: Environment,
  { hasInput = false } = {},
): SpawnedInstep {
  const child = spawnCommand(args, processOptions(environment));
  if (!hasInput) child.stdin.end();
  const written = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    written.stderr += text;
  });
  const exited = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  return {
    process: child,
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    async writes(pattern) {
      while (!pattern.test(written.stdout)) {
        const end = await Promise.race([once(child.stdout, 'data'), exited]);
        if (!Array.isArray(end)) throw new Error(`exit ${end}:\n${written.stderr}`);
      }
    },
    exited,
    stop(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

type LogLine = Readonly<Record<string, unknown>>;

export type InstepProcess = {
  readonly url: string;
  readonly process: ChildProcess;
  /** Every line so far, of standard output and standard error. */
  readonly lines: readonly string[];
  /** The lines of standard output. */
  readonly stdoutLines: readonly string[];
  /** Waits for a line with these members. */
  logged(members: LogLine): Promise<LogLine>;
  /** Posts a body, signed as Stripe signs it. */
  post(body: string, init?: RequestInit): Promise<Response>;
  /** Sends the signal; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
};

/** Posts a body to a server, signed as Stripe signs it. */
export function postSigned(url: string, body: string, init: RequestInit = {}): Promise<Response> {
  const signature = { 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, Date.now()) };
  const headers = { ...HEADERS, ...signature };
  return fetch(`${url}/api/stripe/webhook`, { method: 'POST', headers, body, ...init });
}

/**
 * The exit code after an unexpected error. The last lines are printed, because a test often sees only its
 * consequences.
 */
const UNEXPECTED = 1;

export type StartOptions = {
  /** The working directory; by default, a new folder. */
  readonly folder?: string;
  /** The compiled program; by default, that of `dist`. */
  readonly program?: string;
};

/**
 * Starts the real server, with `SETTINGS` unless the environment says otherwise, and waits until it
 * listens.
 */
export async function startInstep(
  environment: Environment,
  { folder, program }: StartOptions = {},
): Promise<InstepProcess> {
  const options = processOptions({ ...SETTINGS, ...environment }, folder);
  const child = spawnCommand(['serve'], options, program);
  child.stdin.end();
  const lines: string[] = [];
  const stdoutLines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    onLine(stream, (line) => {
      lines.push(line);
      if (stream === child.stdout) stdoutLines.push(line);
      for (const look of waiting) look();
    });
  }
  // Resolves only after all output has been read.
  const exited = once(child, 'close').then(([code]: (number | null)[]) => code ?? null);
  let isExpected = false;
  void exited.then((code) => {
    if (code === UNEXPECTED && !isExpected)
      process.stderr.write(`the server ended:\n${lines.slice(-5).join('\n')}\n`);
  });

  function logged(members: LogLine): Promise<LogLine> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
        const match = found.find((line) => contains(line, members));
        if (match !== undefined) {
          waiting.delete(look);
          resolve(match);
        }
      };
      waiting.add(look);
      look();
      void exited.then((code) => reject(new Error(`exit ${code}:\n${lines.join('\n')}`)));
    });
  }

  const { url } = await logged({ msg: 'listening' });
  return {
    url: String(url),
    process: child,
    lines,
    stdoutLines,
    logged,
    post: (body, init) => postSigned(String(url), body, init),
    stop(signal = 'SIGTERM') {
      isExpected = true;
      child.kill(signal);
      return exited;
    },
  };
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
