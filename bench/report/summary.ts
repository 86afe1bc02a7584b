import type { Sample } from '../measures/compare.ts';
import type { LoadName } from '../measures/measure-system.ts';
import type { Measured } from '../measures/server-run.ts';
import { median, medianOfKnown } from './median.ts';

/** The medians of all rounds. */
export type Summary = {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverCpuUs: number | null;
  readonly postgresCpuUs: number | null;
  /** The maximum of all rounds, like the next one. */
  readonly peakMegabytes: number | null;
  readonly wrongCustomers: number;
  /** The problems of all rounds. With any of them, the numbers are invalid. */
  readonly problems: readonly string[];
};

/** `null` when nothing was measured. */
export function summarize(
  samples: readonly Sample[],
  name: LoadName,
  system: string,
): Summary | null {
  const all = measuredOf(samples, name, system);
  if (all.length === 0) return null;
  const of = (read: (measured: Measured) => number) => median(all.map(read));
  const peaks = all.map(({ peakMegabytes }) => peakMegabytes).filter((peak) => peak !== null);
  return {
    perSecond: of(({ perSecond }) => perSecond),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    serverCpuUs: medianOfKnown(all.map(({ serverCpuUs }) => serverCpuUs)),
    postgresCpuUs: medianOfKnown(all.map(({ postgresCpuUs }) => postgresCpuUs)),
    peakMegabytes: peaks.length === 0 ? null : Math.max(...peaks),
    wrongCustomers: Math.max(...all.map(({ wrongCustomers }) => wrongCustomers)),
    problems: all.flatMap(({ problems }) => problems),
  };
}

/**
 * A value relative to that of another system in the same round, by default the rate: the median of all rounds.
 * `null` when there is no round with both.
 */
export function ratioTo(
  samples: readonly Sample[],
  name: LoadName,
  system: string,
  other: string,
  read: (measured: Measured) => number | null = ({ perSecond }) => perSecond,
): number | null {
  const ratios: number[] = [];
  for (const { round, measured } of samples.filter((one) => isOf(one, name, system))) {
    const beside = samples.find((one) => one.round === round && isOf(one, name, other));
    const [own, others] = [measured, beside?.measured].map((one) => one && read(one));
    if (own != null && others != null) ratios.push(own / others);
  }
  return medianOfKnown(ratios);
}

function measuredOf(samples: readonly Sample[], name: LoadName, system: string): Measured[] {
  return samples.filter((one) => isOf(one, name, system)).map(({ measured }) => measured);
}

const isOf = (sample: Sample, name: LoadName, system: string) =>
  sample.name === name && sample.system === system;
