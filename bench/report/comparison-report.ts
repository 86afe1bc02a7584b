import type { Comparison } from '../measures/compare.ts';
import { LOADS } from '../measures/measure-system.ts';
import type { Options } from '../options.ts';
import { bytesTable } from './bytes-table.ts';
import { chart, type Panel } from './chart.ts';
import { figure } from './format.ts';
import { loadsTable, problemLines } from './loads-table.ts';
import { median } from './median.ts';
import type { Report } from './page.ts';
import { summarize } from './summary.ts';

export function comparisonReport(
  comparison: Comparison,
  { options, machine }: { readonly options: Options; readonly machine: string },
): Report {
  const { rounds, seconds, warmUpSeconds, connections } = options;
  const { commits, starts, install, bytes } = comparison;
  const problems = problemLines(comparison);
  const samples = comparison.samples.length;
  const sound =
    problems.length === 0
      ? `All ${samples} measurements were valid: every response was correct, and everything ` +
        'acknowledged was in the database afterward.'
      : `**Some measurements failed:**\n\n${problems.join('\n')}`;
  const figures = [
    `Measured with \`npm run bench\` on ${machine}, in ${rounds} rounds with ${connections} ` +
      `connections. Each measurement took ${seconds} s, after a warm-up of ${warmUpSeconds} s. ` +
      sound,
    '![Events and profile reads per second: Instep, the floor and the peers](img/performance.svg)',
    `### Webhook events, ${connections} connections`,
    loadsTable(comparison, LOADS.events),
    `### Profile reads, ${connections} connections`,
    loadsTable(comparison, LOADS.profiles),
    `### Realistic events, ${connections} connections`,
    loadsTable(comparison, LOADS.renewals),
    '### Events, one at a time',
    loadsTable(comparison, LOADS.oneEvent),
    '### Start, storage, install',
    starts === null
      ? ''
      : `\`instep serve\` is ready after ${figure(median(starts.externalMs), ' ms')} with an external ` +
        `database, and after ${figure(median(starts.embeddedMs), ' ms')} with the embedded one, ` +
        `which it starts itself. The library answers its first request after ` +
        `${figure(median(starts.firstAnswerMs), ' ms')} (medians of ${starts.externalMs.length}).`,
    'Bytes per event, including all tables and indexes, after a vacuum:',
    bytesTable(bytes),
    install === null
      ? ''
      : `An install of the library adds ${install.packages} packages, including the library itself, ` +
        `and takes up ${figure(install.megabytes, ' MB')}.`,
  ];
  const goals = [
    commits.length === 0
      ? ''
      : `A bare single-row commit through \`pg\`: p50 ${figure(median(commits.map(({ p50Ms }) => p50Ms)), ' ms')}, ` +
        `p99 ${figure(median(commits.map(({ p99Ms }) => p99Ms)), ' ms')}.`,
    '### Events and profile reads at the same time',
    'Events, with half of the connections:',
    loadsTable(comparison, LOADS.eventsMixed),
    'Profile reads, with the other half:',
    loadsTable(comparison, LOADS.profilesMixed),
    '### Events at 70% of the maximum rate',
    loadsTable(comparison, LOADS.eventsInTime),
    '### Profile reads at 70% of the maximum rate',
    loadsTable(comparison, LOADS.profilesInTime),
  ];
  return { figures: joined(figures), goals: joined(goals) };
}

const joined = (parts: readonly string[]) => parts.filter((part) => part !== '').join('\n\n');

/** The two rates of all systems. */
export function comparisonChart({ systems, samples }: Comparison): string {
  const panel = (title: string, name: typeof LOADS.events | typeof LOADS.profiles): Panel => ({
    title,
    bars: systems.flatMap((system) => {
      const summary = summarize(samples, name, system.name);
      return summary === null ? [] : [{ label: system.title, value: summary.perSecond }];
    }),
  });
  return chart('Events and profile reads per second', [
    panel('Webhook events per second', LOADS.events),
    panel('Profile reads per second', LOADS.profiles),
  ]);
}
