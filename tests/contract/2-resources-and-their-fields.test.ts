import type { ApplicationId } from 'instep';
import { expect, test } from 'vitest';
import { PROFILE } from '../support/secrets/test-secrets.ts';
import { useService } from '../support/service/contract-service.ts';

const service = useService();
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function profileOf(userId: ApplicationId): Promise<Record<string, unknown>> {
  const response = await service.getUser(await service.cookieOf(userId));
  return (await response.json()) as Record<string, unknown>;
}

test('2 User: exactly the fields of the contract, passwordHash included', async () => {
  const { id, email } = await service.addUser();
  expect(await profileOf(id)).toStrictEqual({
    id,
    name: PROFILE.name,
    email,
    passwordHash: PROFILE.passwordHash,
    role: 'member',
    createdAt: expect.stringMatching(TIMESTAMP),
    updatedAt: expect.stringMatching(TIMESTAMP),
    deletedAt: null,
  });
});

test("2 User: the row's timestamps in UTC", async () => {
  const { id } = await service.addUser();
  await service.database.query(
    `update users
        set created_at = '2024-02-29 23:30:00.5+02', updated_at = '1999-12-31 23:59:59.9999Z'
      where id = $1`,
    [id],
  );
  expect(await profileOf(id)).toMatchObject({
    createdAt: '2024-02-29T21:30:00.500Z',
    updatedAt: '1999-12-31T23:59:59.999Z',
  });
});

test('2 User: name can be null, role is member by default, email is unique', async () => {
  const insert = `insert into users (email, password_hash) values ('unique@example.com', 'x')`;
  const [row] = await service.database.query<{ id: number }>(`${insert} returning id`);
  expect(await profileOf(row?.id ?? 0)).toMatchObject({ name: null, role: 'member' });
  await expect(service.database.query(insert)).rejects.toThrow(/users_email_key/);
});

const [CREATED, UPDATED] = ['2024-03-01T10:00:00.000Z', '2024-03-02T11:00:00.000Z'];
const UNKNOWN = '1970-01-01T00:00:00.000Z';

test.each([
  ['email', 'null', { email: '' }],
  ['password_hash', 'null', { passwordHash: '' }],
  ['role', 'null', { role: 'member' }],
  ['created_at', 'null', { createdAt: UPDATED, updatedAt: UPDATED }],
  ['created_at', `'-infinity'`, { createdAt: UPDATED, updatedAt: UPDATED }],
  ['updated_at', 'null', { createdAt: CREATED, updatedAt: CREATED }],
  ['updated_at', `'infinity'`, { createdAt: CREATED, updatedAt: CREATED }],
  ['updated_at', `'294000-01-01'`, { createdAt: CREATED, updatedAt: CREATED }],
  ['created_at, updated_at', 'null, null', { createdAt: UNKNOWN, updatedAt: UNKNOWN }],
])('2 User: the type of each field, when the application stored %s as %s', async (...row) => {
  const [columns, values, expected] = row;
  const { query } = service.database;
  for (const column of ['email', 'password_hash', 'role', 'created_at', 'updated_at']) {
    await query(`alter table users alter ${column} drop not null`);
  }
  const { id } = await service.addUser();
  await query('update users set created_at = $2, updated_at = $3 where id = $1', [
    id,
    CREATED,
    UPDATED,
  ]);
  const before = await profileOf(id);
  await query(`update users set (${columns}) = row(${values}) where id = ${id}`);
  expect(await profileOf(id)).toStrictEqual({ ...before, ...expected });
});

test('2 Team: one customer has one team', async () => {
  const { customerId } = await service.addTeam();
  const insert = service.database.query(
    `insert into teams (name, provider_customer_id) values ('Second', $1)`,
    [customerId],
  );
  await expect(insert).rejects.toThrow(/teams_provider_customer_id_key/);
});
