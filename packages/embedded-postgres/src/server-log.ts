import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { ifExists } from './errors.ts';
import type { ServerUser } from './server-user.ts';

const MAX_BYTES = 10 * 1024 * 1024;
const TAIL_BYTES = 64 * 1024;
const TAIL_LINES = 12;

/** The log, and the position at which the output of a new server begins. */
type ServerLog = { readonly file: FileHandle; readonly beginsAt: number };

/**
 * Opens the log to append to. A log of more than 10 MB becomes `<path>.1`. It belongs to PostgreSQL's user,
 * so that another process that is not root can write it.
 */
export async function openServerLog(path: string, user: ServerUser): Promise<ServerLog> {
  const former = await ifExists(stat(path));
  if (former !== undefined && former.size > MAX_BYTES) await rename(path, `${path}.1`);
  const file = await open(path, 'a', 0o600);
  if (user.isSwitched) await file.chown(user.uid, user.gid);
  return { file, beginsAt: (await file.stat()).size };
}

/** The lines from `beginsAt` on, in the last 64 kB; none when there is no log. */
export async function readServerLog(path: string, beginsAt: number): Promise<string[]> {
  const file = await ifExists(open(path, 'r'));
  if (file === undefined) return [];
  try {
    const { size } = await file.stat();
    const position = Math.max(size < beginsAt ? 0 : beginsAt, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(TAIL_BYTES), position });
    const text = buffer.toString('utf8', 0, bytesRead);
    return text.split('\n').filter((line) => line !== '');
  } finally {
    await file.close();
  }
}

/** The last lines, as an error quotes them. */
export function lastLines(lines: readonly string[]): string {
  return lines.slice(-TAIL_LINES).join('\n');
}
