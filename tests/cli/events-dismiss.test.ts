import { findIssues } from 'instep-operate';
import { afterEach, expect, test } from 'vitest';
import { useLog } from '../support/service/log-service.ts';

const log = useLog();
const HOUR_MS = 60 * 60 * 1_000;

afterEach(() =>
  log.database.query('truncate instep.events, instep.customers, instep.operator_actions'),
);

async function deliverParked() {
  await log.deliver({ customerId: 'cus_old', eventId: 'evt_old' }, Date.now() - 10 * HOUR_MS);
  await log.deliver({ customerId: 'cus_new', eventId: 'evt_new' }, Date.now());
}

/** The customers that are still an issue. */
const left = async () => {
  const { issues } = await findIssues({ database: log.database, keyMode: null }).first();
  return issues.flatMap(({ customerId, team }) => (team === null ? (customerId ?? []) : []));
};

test.each([
  [['--customer', 'cus_new'], ['cus_old']],
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
  expect(await left()).toEqual(['cus_new', 'cus_old']);
  await log.addTeam('cus_old');
  expect((await log.events(['dismiss', '--all'])).stdout).toBe('dismissed  1\n');
  expect(await left()).toEqual([]);
});
