import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { VERSION } from 'instep/src/runtime/packages.ts';
import { newestVersion } from '../internals/database.ts';
import { createFolder } from './instep-process.ts';

/** A compiled version of the program. */
type ProgramVersion = {
  readonly folder: string;
  readonly program: string;
  readonly version: string;
  /** The version of its newest migration. */
  readonly schema: number;
};

const ROOT = resolve(import.meta.dirname, '../../..');

export const currentVersion: ProgramVersion = {
  folder: ROOT,
  program: join(ROOT, 'packages/instep/dist/cli/instep.js'),
  version: VERSION,
  schema: newestVersion(),
};

/**
 * Creates the version after this one: a copy with a higher version number and with one more migration, which
 * adds a column with an index to the event log.
 */
export function createNextVersion(former: ProgramVersion): ProgramVersion {
  const folder = createFolder();
  const [major, minor] = former.version.split('.');
  const version = `${major}.${Number(minor) + 1}.0`;
  const schema = former.schema + 1;

  cpSync(join(former.folder, 'packages'), join(folder, 'packages'), { recursive: true });
  for (const file of ['rolldown.config.js', 'tsconfig.json']) {
    cpSync(join(ROOT, file), join(folder, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  // Its own packages, and not those that the root has linked.
  const linked = join(folder, 'packages/instep/node_modules');
  rmSync(linked, { recursive: true, force: true });
  mkdirSync(linked);
  for (const name of ['engine', 'operate']) {
    symlinkSync(join(folder, 'packages', name), join(linked, `instep-${name}`));
  }
  for (const file of ['packages/instep/package.json', 'packages/instep/src/runtime/packages.ts']) {
    const text = readFileSync(join(former.folder, file), 'utf8');
    writeFileSync(join(folder, file), text.replace(former.version, version));
  }
  const migration = {
    owner: 'engine',
    version: schema,
    name: `${String(schema).padStart(4, '0')}_column`,
    sql: `
      alter table instep.events add column column_${schema} text;
      create index events_column_${schema} on instep.events (column_${schema})
        where column_${schema} is not null;`,
    compatibleFrom: former.schema,
  };
  const migrations = join(folder, 'packages/engine/src/postgres/migrate.ts');
  appendFileSync(migrations, `ENGINE_MIGRATIONS.push(${JSON.stringify(migration)});\n`);
  execFileSync(process.execPath, [join(ROOT, 'node_modules/rolldown/bin/cli.mjs'), '-c'], {
    cwd: folder,
  });
  return { folder, program: join(folder, 'packages/instep/dist/cli/instep.js'), version, schema };
}
