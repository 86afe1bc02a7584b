import { afterEach, expect, test } from 'vitest';
import { useLog } from '../support/service/log-service.ts';

const log = useLog();
const HOUR_MS = 60 * 60 * 1_000;

afterEach(() =>
  log.database.query('truncate instep.events, instep.customers, instep.dismissed_events'),
);

async function deliverParked() {
  await log.deliver({ customerId: 'cus_old', eventId: 'evt_old' }, Date.now() - 10 * HOUR_MS);
  await log.deliver({ customerId: 'cus_new', eventId: 'evt_new' }, Date.now());
}

/** The events that were not dismissed. */
const left = async () => {
  const rows = await log.database.query<{ event_id: string }>(
    `select event_id
       from instep.events
      where not exists (select from instep.dismissed_events as dismissed where dismissed.key = events.key)
      order by position`,
  );
  return rows.map(({ event_id }) => event_id);
};

test.each([
  [['--customer', 'cus_new'], ['evt_old']],
  [['--all'], []],
])('dismiss %s leaves %s', async (args, expected) => {
  await deliverParked();
  const { code, stdout } = await log.events(['dismiss', ...args]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: `dismissed  ${2 - expected.length}\n` });
  expect(await left()).toEqual(expected);
});

test('dismisses nothing unless the events are chosen, and no event of a team', async () => {
  await deliverParked();
  const { code, stderr } = await log.events(['dismiss']);
  expect(code).toBe(2);
  expect(stderr).toContain('choose the events: --customer or --all');
  expect(await left()).toEqual(['evt_old', 'evt_new']);
  await log.addTeam('cus_old');
  await log.events(['dismiss', '--all']);
  expect(await left()).toEqual(['evt_old']);
});
