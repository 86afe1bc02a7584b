import { readFileSync } from 'node:fs';

/**
 * About 20 files of Node, 10 connections to PostgreSQL, a few to Stripe's API, and up to 80 modules: those of
 * maintenance and the console are loaded while the port is open. Node opens them all at once, and never loads a
 * module again that it could not open.
 */
const RESERVED = 120;
const MIN_CONNECTIONS = 8;

/** The number of files, sockets included, that the process can have open; only known on Linux. */
export function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const [, soft] = /^Max open files +(\d+) /m.exec(limits) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The number of connections that can be open while every other part of the process has its files. */
export function connectionsWithin(openFiles: number, neededElsewhere = 0): number {
  return Math.max(MIN_CONNECTIONS, openFiles - RESERVED - neededElsewhere);
}
