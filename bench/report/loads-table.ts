import type { Comparison } from '../measures/compare.ts';
import { LOADS, type LoadName } from '../measures/measure-system.ts';
import { figure, table } from './format.ts';
import { ratioTo, type Summary, summarize } from './summary.ts';

const HEAD = ['', 'per second', 'vs. floor', 'p50', 'p99'];
const COSTS = ['server', 'PostgreSQL', 'peak'];
const WRONG = 'wrong customers';

/** The medians of one measurement, a row for each system that has it. */
export function loadsTable({ systems, samples }: Comparison, name: LoadName): string {
  const rows = systems.flatMap((system) => {
    const summary = summarize(samples, name, system.name);
    if (summary === null) return [];
    const failed = summary.problems.length === 0 ? '' : ' **failed: see above**';
    return [
      [
        system.title + failed,
        figure(summary.perSecond),
        figure(ratioTo(samples, name, system.name, 'floor')),
        figure(summary.p50Ms, ' ms'),
        figure(summary.p99Ms, ' ms'),
        ...(isMixed(name) ? [] : costsOf(summary)),
        ...(name === LOADS.renewals ? [figure(summary.wrongCustomers)] : []),
      ],
    ];
  });
  const costs = isMixed(name) ? [] : COSTS;
  return table([...HEAD, ...costs, ...(name === LOADS.renewals ? [WRONG] : [])], rows);
}

const isMixed = (name: LoadName) => name === LOADS.eventsMixed || name === LOADS.profilesMixed;

function costsOf({ serverCpuUs, postgresCpuUs, peakMegabytes }: Summary): string[] {
  return [figure(serverCpuUs, ' µs'), figure(postgresCpuUs, ' µs'), figure(peakMegabytes, ' MB')];
}

/** The problems, so that invalid numbers are not mistaken for valid ones. */
export function problemLines({ samples, bytes }: Comparison): string[] {
  return [
    ...samples.flatMap(({ system, round, name, measured }) =>
      measured.problems.map((problem) => `- ${system}, round ${round}, ${name}: ${problem}`),
    ),
    ...[...bytes].flatMap(([system, { problems }]) =>
      problems.map((problem) => `- ${system}, bytes per event: ${problem}`),
    ),
  ];
}
