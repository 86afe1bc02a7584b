import { expect, test } from 'vitest';
import { openExaminedAccount } from '../support/stripe/examined-account.ts';

async function openAccount() {
  const account = await openExaminedAccount();
  const checkOf = async (named: string) => {
    const { checks } = await account.examine();
    return checks.find(({ name }) => name === named);
  };
  return { ...account, checkOf };
}

test('shows the policy', async () => {
  const { checkOf } = await openAccount();
  const result = 'TEAM_PLAN=newest PAST_DUE_GRACE=off';
  expect(await checkOf('access')).toMatchObject({ state: 'ok', result });
});

test('fails when the view is missing', async () => {
  const { database, checkOf } = await openAccount();
  await database.query('drop view instep.team_access');
  expect(await checkOf('access')).toMatchObject({ state: 'failure' });
});
