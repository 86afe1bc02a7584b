import type { PlanColumn } from 'instep-engine/postgres';
import type { PlanFieldName } from 'instep-engine/rule';
import { writeText } from 'instep-engine/src/log/write-text.ts';
import { expect, test } from 'vitest';
import { STARTER_TEAMS } from '../support/engine-database.ts';

test('the statement that writes, as PostgreSQL gets it for the tables of nextjs/saas-starter', async () => {
  await expect(writeText(STARTER_TEAMS)).toMatchFileSnapshot('write-text.starter.sql');
});

test('an optional field of a plan is read, compared and written where the table has a column', () => {
  const plan = new Map<PlanFieldName, PlanColumn>([
    ...STARTER_TEAMS.plan,
    ['trialEndsAt', { name: '"trialEnd"', type: 'timestamptz', isNullable: true }],
  ]);
  const text = writeText({ ...STARTER_TEAMS, plan });
  expect(text).toContain('"trialEnd" = written.trial_ends_at');
  expect(text).toContain('extract(epoch from teams."trialEnd")::bigint');
});
