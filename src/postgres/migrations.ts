import { readdirSync, readFileSync } from 'node:fs';

export type Migration = { readonly version: number; readonly name: string; readonly sql: string };

const FOLDER = new URL('./migrations/', import.meta.url);

/** The migrations in order, each from a file such as `0001_what_it_does.sql`. */
export function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => ({
      version: Number.parseInt(file, 10),
      name: file.slice(0, -'.sql'.length),
      sql: readFileSync(new URL(file, FOLDER), 'utf8'),
    }));
}
