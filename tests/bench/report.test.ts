import { expect, test } from 'vitest';
import type { EventMix } from '../../bench/load/job.ts';
import { auditEvents } from '../../bench/measures/audit.ts';
import type { Comparison, Sample } from '../../bench/measures/compare.ts';
import type { Measured } from '../../bench/measures/server-run.ts';
import { readOptions, UsageWrong } from '../../bench/options.ts';
import { goalsOf, goalsTableOfRuns, isMet } from '../../bench/report/goals.ts';
import { isWorseInEveryRound, ratiosOf, ratiosTable } from '../../bench/report/ratios.ts';
import { ratioTo, summarize } from '../../bench/report/summary.ts';
import type { System } from '../../bench/systems/system.ts';

const VALID: Measured = {
  answered: 1_000,
  failures: {},
  perSecond: 1_000,
  p50Ms: 2,
  p99Ms: 8,
  senderCpuMs: 10,
  problems: [],
  wrongCustomers: 0,
  serverCpuUs: 50,
  postgresCpuUs: null,
  senderCpuUs: 10,
  peakMegabytes: 100,
};

const sample = (system: string, round: number, perSecond: number): Sample => ({
  system,
  round,
  name: 'events',
  measured: { ...VALID, perSecond },
});

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

const comparison: Comparison = {
  systems: ['instep', 'floor', 'peer'].map((name) => ({
    ...unused,
    name,
    title: name,
    isPeer: name === 'peer',
  })),
  samples: [
    ...[sample('instep', 1, 900), sample('floor', 1, 1_000), sample('peer', 1, 100)],
    ...[sample('instep', 2, 400), sample('floor', 2, 800), sample('peer', 2, 90)],
    ...[sample('instep', 3, 960), sample('floor', 3, 1_200), sample('peer', 3, 120)],
  ],
  commits: [{ p50Ms: 1, p99Ms: 2 }],
  starts: { externalMs: [300, 500, 350], embeddedMs: [600, 500, 700], firstAnswerMs: [140] },
  bytes: new Map([['instep', { body: 3_300, stored: 3_960, written: 4_000, problems: [] }]]),
  install: { megabytes: 9, packages: 23 },
};

test('a ratio is computed per round, and its median is reported', () => {
  const { samples } = comparison;
  expect(ratioTo(samples, 'events', 'instep', 'floor')).toBe(0.8);
  expect(ratioTo(samples, 'events', 'instep', 'floor', ({ p50Ms }) => p50Ms)).toBe(1);
  expect(
    ratioTo(samples, 'events', 'instep', 'floor', ({ postgresCpuUs }) => postgresCpuUs),
  ).toBeNull();
  expect(ratioTo(samples, 'events', 'instep', 'nobody')).toBeNull();
  expect(summarize(samples, 'events', 'instep')?.perSecond).toBe(900);
  expect(summarize(samples, 'profiles', 'instep')).toBeNull();
});

test('two commits are compared round by round, and only what is worse in every round counts', () => {
  const samples = [
    ...[sample('instep', 1, 900), sample('earlier', 1, 1_000)],
    ...[sample('instep', 2, 840), sample('earlier', 2, 800)],
  ];
  const rateOf = (all: readonly Sample[]) => {
    const found = ratiosOf(all).find(({ unit }) => unit === 'per second');
    if (found === undefined) throw new RangeError('no ratio');
    return found;
  };
  expect(rateOf(samples).rounds).toEqual([0.9, 1.05]);
  expect(isWorseInEveryRound(rateOf(samples))).toBe(false);
  expect(isWorseInEveryRound(rateOf(samples.slice(0, 2)))).toBe(true);
  const report = ratiosTable(ratiosOf(samples));
  expect(report).toContain('| events | per second | 0.975 | 0.9 to 1.05 | no |');
  expect(report).not.toContain('PostgreSQL');
});

test('a goal is met, missed or not measured', () => {
  const met = Object.fromEntries(goalsOf(comparison).map((goal) => [goal.title, isMet(goal)]));
  expect(met).toMatchObject({
    'events/s, 64 connections, relative to the floor': true,
    'profile reads/s, relative to the floor': null,
    'ready with a migrated database, external': false,
    'peak memory, events': true,
  });
});

test('a goal is met if the median of its runs does', () => {
  const goal = { title: 'rate', target: { least: 2 }, unit: ' MB' };
  const runs = [3, 1, 2].map((measured) => [{ ...goal, measured }]);
  expect(goalsTableOfRuns(runs)).toContain('| rate | ≥ 2 MB | 3, 1, 2 | 2 MB | yes |');
});

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

test('the command line selects a whole step or a part of it, or is wrong', () => {
  expect(readOptions([])).toMatchObject({ step: 'compare', only: null, hasDefaultOptions: true });
  expect(readOptions(['growth', '--teams', '10'])).toMatchObject({
    teams: 10,
    hasDefaultOptions: false,
  });
  expect(readOptions(['--only', 'instep,floor']).only).toEqual(['instep', 'floor']);
  expect(readOptions(['--against', 'HEAD~1'])).toMatchObject({
    against: 'HEAD~1',
    measures: ['events', 'profiles', 'latency'],
  });
  for (const wrong of [['grow'], ['--measure', 'all'], ['--rounds', '0'], ['--fast']]) {
    expect(() => readOptions(wrong)).toThrow(UsageWrong);
  }
});
