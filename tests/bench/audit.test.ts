import { expect, test } from 'vitest';
import type { EventMix } from '../../bench/load/job.ts';
import { auditEvents } from '../../bench/measures/audit.ts';
import type { System } from '../../bench/systems/system.ts';

const unused: Omit<System, 'name' | 'title' | 'isPeer'> = {
  keepsOrder: false,
  webhookPath: '/',
  profiles: null,
  prepare: async () => undefined,
  server: () => ({ arguments: [], environment: {}, readyPath: '/' }),
  countLogged: null,
  readSubscriptions: async () => new Map(),
  expect: () => '',
};

test('the audit finds missing events and wrong customers', async () => {
  const prepared = (
    logged: number,
    plan: string,
    { mix = 'changes', keepsOrder = true }: { mix?: EventMix; keepsOrder?: boolean } = {},
  ) => ({
    system: {
      ...unused,
      name: 'liar',
      title: 'liar',
      isPeer: false,
      keepsOrder,
      countLogged: async () => logged,
      readSubscriptions: async () => new Map([['cus_Bench000000001', plan]]),
      expect: ({ status }: { status: string }) => status,
    },
    database: { url: '', ask: async () => [], checkpoint: async () => {}, close: async () => {} },
    teams: 1,
    signedIn: [],
    mix,
    eventsSent: 1,
    eventsDeleted: 0,
  });
  const sound = { problems: [], wrongCustomers: 0 };
  expect(await auditEvents(prepared(1, 'active'))).toEqual(sound);
  const missing = { problems: ['0 of 1 events are logged'], wrongCustomers: 0 };
  expect(await auditEvents(prepared(0, 'active'))).toEqual(missing);
  for (const mix of ['changes', 'renewals'] as const) {
    const { problems, wrongCustomers } = await auditEvents(prepared(1, 'unpaid', { mix }));
    expect([problems.length, wrongCustomers]).toEqual([1, 1]);
  }
  // Only a system that orders events must reach the right state.
  const unordered = prepared(1, 'unpaid', { mix: 'renewals', keepsOrder: false });
  expect(await auditEvents(unordered)).toEqual({ problems: [], wrongCustomers: 1 });
});
