import { expect, test } from 'vitest';
import type { EventMix } from '../../bench/load/job.ts';
import { auditEvents } from '../../bench/measures/audit.ts';
import type { Comparison, Sample } from '../../bench/measures/compare.ts';
import { PHASES, type RetentionMeasures } from '../../bench/measures/retention.ts';
import type { Measured } from '../../bench/measures/server-run.ts';
import { readOptions, UsageWrong } from '../../bench/options.ts';
import { parseStat } from '../../bench/processes/process-tree.ts';
import { chart } from '../../bench/report/chart.ts';
import { comparisonReport } from '../../bench/report/comparison-report.ts';
import { consoleReport } from '../../bench/report/console-report.ts';
import { figure, table } from '../../bench/report/format.ts';
import { goalsOf, goalsTableOfRuns, isMet } from '../../bench/report/goals.ts';
import { median } from '../../bench/report/median.ts';
import { growthPercent } from '../../bench/report/memory-report.ts';
import { withSection } from '../../bench/report/page.ts';
import { isWorseInEveryRound, ratiosOf, ratiosTable } from '../../bench/report/ratios.ts';
import { retentionReport } from '../../bench/report/retention-report.ts';
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

test('a median is the middle value or the mean of the two middle values', () => {
  expect(median([30, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 30])).toBe(3);
  expect(() => median([])).toThrow(RangeError);
});

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

test('the report names the measurements that failed', () => {
  const context = { options: readOptions([]), machine: 'two cores' };
  expect(comparisonReport(comparison, context).figures).toContain('All 9 measurements were valid');
  const [first, ...rest] = comparison.samples;
  if (first === undefined) throw new RangeError('no sample');
  const measured = { ...first.measured, problems: ['7 events are logged of 9'] };
  const failedBytes = { body: 1, stored: 1, written: 1, problems: ['8 events are logged of 9'] };
  const failed = {
    ...comparison,
    samples: [{ ...first, measured }, ...rest],
    bytes: new Map([['floor', failedBytes]]),
  };
  const { figures } = comparisonReport(failed, context);
  expect(figures).toContain('- instep, round 1, events: 7 events are logged of 9');
  expect(figures).toContain('- floor, bytes per event: 8 events are logged of 9');
  expect(figures).toContain('| instep **failed: see above** |');
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

test('only the section of the page changes', () => {
  const page = [
    'Prose.',
    '<!-- Written by npm run bench -- compare: begin -->\nold\n<!-- end -->',
    'More.',
    '<!-- Written by npm run bench -- growth: begin -->\n<!-- end -->',
  ].join('\n');
  const changed = withSection(page, 'compare', 'new');
  expect(changed).toBe(page.replace('\nold\n', '\n\nnew\n\n'));
  const both = withSection(changed, 'growth', 'high');
  expect(both).toBe(
    changed.replace(/begin -->\n<!-- end -->$/, 'begin -->\n\nhigh\n\n<!-- end -->'),
  );
  expect(() => withSection(page, 'memory', 'flat')).toThrow(RangeError);
});

test('tables and charts contain their values', () => {
  expect(table(['a', 'b'], [['1', '2']])).toBe('| a | b |\n|---|---|\n| 1 | 2 |');
  expect(figure(12_345, '/s')).toBe('12,300/s');
  expect(figure(0.8512)).toBe('0.851');
  expect(figure(null, ' MB')).toBe('–');
  const bars = [
    { label: '<one>', value: 200 },
    { label: 'two', value: 100 },
  ];
  const svg = chart('what & how', [{ title: 'rates', bars }]);
  const widths = [...svg.matchAll(/<rect [^>]*width="(\d+)"/g)].map(([, width]) => Number(width));
  expect(widths[0]).toBe(2 * (widths[1] ?? 0));
  expect(svg).toContain('&lt;one&gt;');
  expect(svg).toContain('<title>what &amp; how</title>');
});

test('the console report has the slowest page and the failed ones', () => {
  const page = {
    name: 'overview',
    path: '/',
    timesMs: [10, 300, 20],
    bytes: 12_345,
    problem: null,
  };
  const context = { options: readOptions(['console']), machine: 'two cores' };
  const week = { ...page, name: '… week', timesMs: [30, 40, 50] };
  const events = { ...page, name: 'events', timesMs: [5] };
  const { figures, goals } = consoleReport([page, week, events], context);
  expect(figures).toContain('| overview | 2 | 40 ms | 300 ms |');
  expect(figures).toContain('| events | 1 | 5 ms | 5 ms |');
  expect(figures).toContain('All pages were complete.');
  expect(goals).toContain('| the slowest page, median | ≤ 100 ms | 40 ms | yes |');
  expect(goals).toContain('| … worst case | ≤ 100 ms | 300 ms | **no** |');
  expect(goals).toContain('| overview | 20 ms | 300 ms | 12.3 kB |');
  const missing = { ...page, problem: '/ was answered 404' };
  const failed = consoleReport([page, missing], context);
  expect(failed.figures).toContain('**Failed:** / was answered 404');
});

test('the retention report has the decrease in each round and the figures of the deletion', () => {
  const page = { name: 'events', path: '/events', timesMs: [10, 30, 20], bytes: 1, problem: null };
  const measures: RetentionMeasures = {
    samples: [
      ...[sample(PHASES.summingRests, 1, 1_000), sample(PHASES.summing, 1, 960)],
      ...[sample(PHASES.deletionRests, 1, 1_000), sample(PHASES.deletion, 1, 800)],
      ...[sample(PHASES.deletionRests, 2, 500), sample(PHASES.deletion, 2, 475)],
      ...[sample(PHASES.deletionRests, 3, 500), sample(PHASES.deletion, 3, 450)],
    ],
    summedPerSecond: 12_345,
    deletion: {
      deleted: 5_000_000,
      perSecond: 4_000,
      writtenBytes: 512,
      postgresCpuUs: null,
      deadRows: 7,
      vacuumSeconds: 12,
      kept: 500_000,
      nextRunSeconds: 60,
    },
    pages: { during: [page], after: [{ ...page, timesMs: [300] }] },
    growthByReplacement: 0.04,
  };
  const context = { options: readOptions(['retention']), machine: 'two cores' };
  const { figures, goals } = retentionReport(measures, context);
  expect(goals).toContain(
    '| events per second: decrease while statistics are built | ≤ 5% | 4% | yes |',
  );
  expect(goals).toContain(
    '| events per second: decrease while events are deleted | ≤ 10% | 10% | yes |',
  );
  expect(goals).toContain('during the deletion, median | ≤ 100 ms | 20 ms | yes |');
  expect(goals).toContain('| … and afterward | ≤ 100 ms | 300 ms | **no** |');
  expect(figures).toContain('| … without other load | 4,000 per second |');
  expect(figures).toContain('| … in a month | 10.4 billion |');
  const missing = { ...page, problem: '/events was answered 404' };
  const failed = { ...measures, pages: { during: [missing], after: [page] } };
  expect(retentionReport(failed, context).figures).toContain(
    '**Failed:** /events was answered 404',
  );
});

test('growing memory is distinguished from constant memory', () => {
  expect(growthPercent([50, 100, 100, 100, 100])).toBe(0);
  expect(growthPercent([50, 100, 110, 120, 130])).toBeCloseTo(30);
});

test("a process's times are parsed behind any name, with those of its children", () => {
  const text = '42 (a) S 7 (b)) R 1 42 42 0 -1 4194560 1 1 0 0 10 20 30 40 20 0 1 0 5 6 7';
  expect(parseStat(text)).toEqual({ pid: 42, parent: 1, cpuMs: 1_000 });
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
