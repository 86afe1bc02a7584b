import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type ServerCommand, startServer } from '../processes/server-process.ts';

const run = promisify(execFile);
const FUNCTION = fileURLToPath(
  new URL('../../../../bench/measures/cold-start.js', import.meta.url),
);
const LIBRARY = new URL('../../../../packages/instep/dist/index.js', import.meta.url).href;

export type StartTimes = {
  readonly externalMs: number[];
  readonly embeddedMs: number[];
  /** The times of the library, from the import to the first answer, on the external database. */
  readonly firstAnswerMs: number[];
};

/**
 * The times that the server needs to become ready, in new processes, on the database of its command
 * and on an embedded one that it starts. Both are migrated.
 */
export async function measureStarts(command: ServerCommand, times: number): Promise<StartTimes> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'instep-bench-data-'));
  const { DATABASE_URL: _, ...environment } = command.environment;
  const embedded = { ...command, environment: { ...environment, INSTEP_DATA: dataFolder } };
  try {
    // The first start creates the database.
    await startTimes(embedded, 1);
    return {
      externalMs: await startTimes(command, times),
      embeddedMs: await startTimes(embedded, times),
      firstAnswerMs: await firstAnswerTimes(command, times),
    };
  } finally {
    rmSync(dataFolder, { recursive: true, force: true });
  }
}

async function startTimes(command: ServerCommand, times: number): Promise<number[]> {
  const all: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const server = await startServer(command);
    all.push(server.startMs);
    await server.stop();
  }
  return all;
}

async function firstAnswerTimes(command: ServerCommand, times: number): Promise<number[]> {
  const env = { ...command.environment, LOG_LEVEL: 'silent' };
  const all: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const { stdout } = await run(process.execPath, [FUNCTION, LIBRARY], { env, cwd: tmpdir() });
    all.push(Number(stdout));
  }
  return all;
}
