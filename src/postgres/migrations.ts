import { readdirSync, readFileSync } from 'node:fs';

export type Migration = { readonly version: number; readonly name: string; readonly sql: string };

const FOLDER = new URL('./migrations/', import.meta.url);

/** The list of what was run, and the migrations themselves in order: `0001_what_it_does.sql`. */
export function readMigrations(): { ledger: Migration; migrations: Migration[] } {
  const [ledger, ...migrations] = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => ({
      version: Number.parseInt(file, 10),
      name: file.slice(0, -'.sql'.length),
      sql: readFileSync(new URL(file, FOLDER), 'utf8'),
    }));
  if (ledger === undefined) throw new RangeError(`no migrations in ${FOLDER.pathname}`);
  return { ledger, migrations };
}
