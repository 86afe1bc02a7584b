import { createHandler, createLogger } from 'instep';
import { signWebhook } from 'instep/testing';
import { expect, onTestFinished, test } from 'vitest';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { eventBody } from '../support/stripe/events.ts';

test('LINK_BY_METADATA also links those who waited when it was set, but for no other mode or account', async () => {
  const { database, url } = await createDatabase();
  const open = (maintenance: 'off' | 'background', more: Readonly<Record<string, string>>) => {
    const environment = { ...SETTINGS, DATABASE_URL: url.href, ...more };
    const handler = createHandler({ environment, logger: createLogger('silent'), maintenance });
    onTestFinished(() => handler.close());
    return handler;
  };
  const handler = open('off', {});
  const newTeam = () => addTeam(database.query, { name: 'Team', customerId: null });
  const [own, otherMode, otherAccount] = [await newTeam(), await newTeam(), await newTeam()];
  for (const [customerId, teamId, origin] of [
    ['cus_other_mode', otherMode, { livemode: true }],
    ['cus_other_account', otherAccount, { account: 'acct_other' }],
    ['cus_own', own, {}],
  ] as const) {
    const event = JSON.parse(eventBody({ customerId, subscriptionId: `sub_of_${customerId}` }));
    event.data.object.metadata = { teamId: String(teamId) };
    const body = JSON.stringify({ ...event, ...origin });
    const headers = { 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, Date.now()) };
    const webhook = 'http://localhost/api/stripe/webhook';
    const answer = await handler(new Request(webhook, { method: 'POST', headers, body }));
    expect(answer.status).toBe(200);
  }
  await handler.close();

  const linking = open('background', { LINK_BY_METADATA: 'teamId' });
  await linking(new Request('http://localhost/api/user'));
  // They are examined in the order of their ids.
  await expect
    .poll(() => readTeam(database.query, own), { timeout: 20_000 })
    .toMatchObject({ customerId: 'cus_own', plan: { subscriptionStatus: 'active' } });
  for (const teamId of [otherMode, otherAccount]) {
    expect(await readTeam(database.query, teamId)).toMatchObject({ customerId: null });
  }
});
