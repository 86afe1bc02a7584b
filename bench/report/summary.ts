import type { Sample } from '../measures/compare.ts';
import type { LoadName } from '../measures/take-turn.ts';
import type { Measured } from '../measures/turn.ts';
import { median, medianOfKnown } from './median.ts';

/** The medians of all rounds. */
export type Summary = {
  readonly contestant: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverCpuUs: number | null;
  readonly postgresCpuUs: number | null;
  readonly senderCpuUs: number;
  /** The most of all rounds. */
  readonly peakMegabytes: number | null;
  /** What was wrong in any of them: then the figures are those of no sound run. */
  readonly problems: readonly string[];
};

/** `null` where nothing was measured. */
export function summarize(
  samples: readonly Sample[],
  name: LoadName,
  contestant: string,
): Summary | null {
  const all = measuredOf(samples, name, contestant);
  if (all.length === 0) return null;
  const of = (read: (measured: Measured) => number) => median(all.map(read));
  const peaks = all.map(({ peakMegabytes }) => peakMegabytes).filter((peak) => peak !== null);
  return {
    contestant,
    perSecond: of(({ perSecond }) => perSecond),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    serverCpuUs: medianOfKnown(all.map(({ serverCpuUs }) => serverCpuUs)),
    postgresCpuUs: medianOfKnown(all.map(({ postgresCpuUs }) => postgresCpuUs)),
    senderCpuUs: of(({ senderCpuUs }) => senderCpuUs),
    peakMegabytes: peaks.length === 0 ? null : Math.max(...peaks),
    problems: all.flatMap(({ problems }) => problems),
  };
}

/**
 * How many times as many a second as the best of the others did in the same round; the median of
 * all rounds. `null` where they did not both have their turns.
 */
export function ratioToBest(
  samples: readonly Sample[],
  name: LoadName,
  contestant: string,
  others: readonly string[],
): number | null {
  const ratios: number[] = [];
  for (const { round, measured } of samples.filter((one) => isOf(one, name, contestant))) {
    const rates = samples
      .filter((one) => one.round === round && others.some((other) => isOf(one, name, other)))
      .map((one) => one.measured.perSecond);
    if (rates.length > 0) ratios.push(measured.perSecond / Math.max(...rates));
  }
  return medianOfKnown(ratios);
}

function measuredOf(samples: readonly Sample[], name: LoadName, contestant: string): Measured[] {
  return samples.filter((one) => isOf(one, name, contestant)).map(({ measured }) => measured);
}

const isOf = (sample: Sample, name: LoadName, contestant: string) =>
  sample.name === name && sample.contestant === contestant;
