import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import type { ServerUser } from './server-user.ts';
import { systemErrorCode } from './system-error-code.ts';

const MAX_BYTES = 10 * 1024 * 1024;
const TAIL_BYTES = 64 * 1024;
const TAIL_LINES = 12;

/** The log that a server is about to write to, and where in it the server's own words begin. */
export type ServerLog = { readonly file: FileHandle; readonly beginsAt: number };

/**
 * Opens the log to append to. One of over 10 MB becomes `<path>.1`, in place of the former one.
 * It belongs to PostgreSQL's user, so that it can be written whether or not we are root next time.
 */
export async function openServerLog(path: string, user: ServerUser): Promise<ServerLog> {
  if ((await sizeOf(path)) > MAX_BYTES) await rename(path, `${path}.1`);
  const file = await open(path, 'a', 0o600);
  if (user.isSwitched) await file.chown(user.uid, user.gid);
  return { file, beginsAt: (await file.stat()).size };
}

/** The lines from `beginsAt` on, of which the last 64 kB count. Not there: none. */
export async function readServerLog(path: string, beginsAt: number): Promise<string[]> {
  let file: FileHandle;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
  try {
    const { size } = await file.stat();
    const from = Math.max(size < beginsAt ? 0 : beginsAt, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read({
      buffer: Buffer.alloc(TAIL_BYTES),
      position: from,
    });
    const text = buffer.toString('utf8', 0, bytesRead);
    return text.split('\n').filter((line) => line !== '');
  } finally {
    await file.close();
  }
}

/** The last lines, as they belong into an error. */
export function lastWords(lines: readonly string[]): string {
  return lines.slice(-TAIL_LINES).join('\n');
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}
