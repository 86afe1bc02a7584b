import { expect, test } from 'vitest';
import { addUser } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { runInstep } from '../support/process/instep-process.ts';

const { database, url } = await createDatabase();

const environment = { DATABASE_URL: url.href };
const user = (...args: string[]) => runInstep(['user', ...args], environment);
const addTo = (email: string) =>
  addUser(database.query, { email, name: null, passwordHash: 'x', role: 'member' });
const TIMESTAMP = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test('add prints the user without the password hash', async () => {
  const args = ['--email', 'ada@example.com', '--name', 'Ada', '--password-hash', '$2b$10$hash'];
  const added = await user('add', ...args, '--json');
  expect(added).toMatchObject({ code: 0, stderr: '' });
  const ada = JSON.parse(added.stdout);
  expect(ada).toEqual({
    id: expect.any(Number),
    name: 'Ada',
    email: 'ada@example.com',
    role: 'member',
    createdAt: TIMESTAMP,
    updatedAt: TIMESTAMP,
    deletedAt: null,
  });
  const rows = await database.query('select password_hash from users where id = $1', [ada.id]);
  expect(rows).toEqual([{ password_hash: '$2b$10$hash' }]);
});

test('an e-mail address that is taken exits with 1 and one line', async () => {
  await addTo('twice@example.com');
  const { code, stdout, stderr } = await user('add', '--email', 'twice@example.com');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^instep: .*users_email_key.*\n$/);
});
