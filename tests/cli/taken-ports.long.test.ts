import { expect, test } from 'vitest';
import { connect, createEmptyDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS, spawnInstep } from '../support/process/instep-process.ts';
import { useTakenPort } from '../support/process/taken-port.ts';

const takenPort = useTakenPort();

test.each(['PORT', 'OPS_PORT'])(
  'a start that fails because %s is taken does not migrate',
  async (variable) => {
    const url = await createEmptyDatabase();
    const instep = spawnInstep(['serve'], {
      ...SETTINGS,
      DATABASE_URL: url.href,
      [variable]: takenPort(),
    });
    expect(await instep.exited).toBe(1);
    expect(instep.stderr).toContain(
      `127.0.0.1:${takenPort()} is taken: set ${variable} to another`,
    );
    const database = connect(url);
    expect(await database.query(`select from pg_namespace where nspname = 'instep'`)).toEqual([]);
    await database.close();
  },
);
