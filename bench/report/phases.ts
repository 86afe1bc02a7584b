import type { Sample } from '../measures/compare.ts';
import { LOADS } from '../measures/measure-system.ts';
import { figure, table } from './format.ts';
import type { Goal } from './goals.ts';
import { ratioTo, summarize } from './summary.ts';

const NAMES = [LOADS.events, LOADS.profiles] as const;

/** The decrease of the rates of events and profiles in one phase, relative to another one. */
export function decreaseGoals(
  samples: readonly Sample[],
  { phase, rest, title, most }: { phase: string; rest: string; title: string; most: number },
): Goal[] {
  return NAMES.map((name) => {
    const ratio = ratioTo(samples, name, phase, rest);
    return {
      title: `${name} per second: decrease ${title}`,
      target: { most },
      unit: '%',
      measured: ratio === null ? null : (1 - ratio) * 100,
    };
  });
}

/** Events and profiles in each of these phases. */
export function phasesTable(samples: readonly Sample[], phases: readonly string[]): string {
  const rows = NAMES.flatMap((name) =>
    phases.map((phase) => {
      const summary = summarize(samples, name, phase);
      return [
        `${name}, ${phase}`,
        figure(summary?.perSecond ?? null),
        figure(summary?.p50Ms ?? null, ' ms'),
        figure(summary?.p99Ms ?? null, ' ms'),
        figure(summary?.serverCpuUs ?? null, ' µs'),
        figure(summary?.postgresCpuUs ?? null, ' µs'),
      ];
    }),
  );
  return table(['', 'per second', 'p50', 'p99', 'server', 'PostgreSQL'], rows);
}
