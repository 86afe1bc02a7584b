import type { Comparison } from '../measures/compare.ts';
import type { LoadName } from '../measures/take-turn.ts';
import { figure, table } from './figures.ts';
import { ratioToBest, summarize } from './summary.ts';

const HEAD = ['', 'per second', 'vs. floor', 'p50', 'p99', 'p99 / p50'];
const COSTS = ['server', 'PostgreSQL', 'sender', 'peak'];

/** The medians of one measure, a row for each contestant that took it. */
export function loadsTable({ contestants, samples }: Comparison, name: LoadName): string {
  const rows = contestants.flatMap((contestant) => {
    const summary = summarize(samples, name, contestant.name);
    if (summary === null) return [];
    const wrong = summary.problems.length === 0 ? '' : ' **failed: see below**';
    return [
      [
        contestant.title + wrong,
        figure(summary.perSecond),
        figure(ratioToBest(samples, name, contestant.name, ['floor'])),
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

/** What was wrong, so that no figure of a failed run is taken for one of a sound run. */
export function problemLines({ samples }: Comparison): string[] {
  return samples.flatMap(({ contestant, round, name, measured }) =>
    measured.problems.map((problem) => `- ${contestant}, round ${round}, ${name}: ${problem}`),
  );
}
