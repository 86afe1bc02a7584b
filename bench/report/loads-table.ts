import type { Comparison } from '../measures/compare.ts';
import type { LoadName } from '../measures/measure-system.ts';
import { figure, table } from './format.ts';
import { ratioToBest, summarize } from './summary.ts';

const HEAD = ['', 'per second', 'vs. floor', 'p50', 'p99', 'p99 / p50'];
const COSTS = ['server', 'PostgreSQL', 'sender', 'peak'];

/** The medians of one measurement, a row for each system that has it. */
export function loadsTable({ systems, samples }: Comparison, name: LoadName): string {
  const rows = systems.flatMap((system) => {
    const summary = summarize(samples, name, system.name);
    if (summary === null) return [];
    const wrong = summary.problems.length === 0 ? '' : ' **failed: see below**';
    return [
      [
        system.title + wrong,
        figure(summary.perSecond),
        figure(ratioToBest(samples, name, system.name, ['floor'])),
        figure(summary.p50Ms, ' ms'),
        figure(summary.p99Ms, ' ms'),
        figure(summary.p99Ms / summary.p50Ms),
        figure(summary.serverCpuUs, ' µs'),
        figure(summary.postgresCpuUs, ' µs'),
        figure(summary.senderCpuUs, ' µs'),
        figure(summary.peakMegabytes, ' MB'),
      ],
    ];
  });
  return table([...HEAD, ...COSTS], rows);
}

/** The problems, so that invalid numbers are not mistaken for valid ones. */
export function problemLines({ samples }: Comparison): string[] {
  return samples.flatMap(({ system, round, name, measured }) =>
    measured.problems.map((problem) => `- ${system}, round ${round}, ${name}: ${problem}`),
  );
}
