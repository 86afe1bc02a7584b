import { readFileSync } from 'node:fs';

/**
 * What the process needs beside connections: some twenty files of Node's own, ten connections to
 * PostgreSQL, and a few to Stripe's API.
 */
const RESERVED = 40;
const MIN_CONNECTIONS = 8;

/** How many files, sockets among them, the process may have open; where it is told, as on Linux. */
export function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files +(\d+) /m.exec(limits) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * How many connections may be open, so that there is always a file left for the database, and for
 * what else in this process needs so many.
 */
export function connectionsWithin(openFiles: number, neededElsewhere = 0): number {
  return Math.max(MIN_CONNECTIONS, openFiles - RESERVED - neededElsewhere);
}
