import { readFileSync } from 'node:fs';

/** About twenty files of Node, ten connections to PostgreSQL, and a few to Stripe's API. */
const RESERVED = 40;
const MIN_CONNECTIONS = 8;

/** How many files, sockets included, the process can have open; only known on Linux. */
export function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files +(\d+) /m.exec(limits) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** How many connections can be open while every other part of the process has its files. */
export function connectionsWithin(openFiles: number, neededElsewhere = 0): number {
  return Math.max(MIN_CONNECTIONS, openFiles - RESERVED - neededElsewhere);
}
