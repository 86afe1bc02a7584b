import type { ApplicationId } from 'instep';
import { expect, test } from 'vitest';
import { addTeam, readTeam } from '../support/internals/rows.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';
import { useLog } from '../support/service/log-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const log = useLog();

test('parked events suggest the teams that their metadata names, which can be accepted', async () => {
  const deliver = async (customerId: string, team: ApplicationId) => {
    const event = JSON.parse(eventBody({ customerId, subscriptionId: `sub_${customerId}` }));
    event.data.object.metadata = { teamId: String(team) };
    await log.deliverBody(JSON.stringify(event));
  };
  const named = await addTeam(log.database.query, { name: 'Acme', customerId: null });
  await deliver('cus_named', named);
  const linked = await log.addTeam('cus_a');
  await deliver('cus_second', linked);
  const parked = ['list', '--outcome', 'parked', '--json'];
  const listed = await log.events(parked);
  expect(listed.stderr.split('\n').sort()).toEqual([
    '',
    `cus_named is probably the customer of team ${named} (Acme), by metadata.teamId. Link it: instep team link ${named} --customer cus_named`,
    `cus_second names team ${linked} (Team), by metadata.teamId, which has another customer, cus_a. Replace that: instep team link ${linked} --customer cus_second --replace cus_a`,
  ]);
  const accepted = await log.events([...parked, '--accept-suggestions'], {
    STRIPE_SECRET_KEY: API_KEY,
  });
  expect(accepted.stderr.split('\n').sort()).toEqual([
    '',
    `did not link team ${linked} to cus_second: has-another-customer`,
    `linked team ${named} to cus_named`,
  ]);
  expect(await readTeam(log.database.query, named)).toMatchObject({
    customerId: 'cus_named',
    plan: { subscriptionStatus: 'active' },
  });
});
