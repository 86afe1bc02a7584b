import { EARLIER, type Sample } from '../measures/compare.ts';
import type { LoadName } from '../measures/measure-system.ts';
import type { Measured } from '../measures/server-run.ts';
import { figure, table } from './format.ts';
import { median } from './median.ts';

/** A figure relative to that of the earlier commit in the same round: below 1 is less. */
type Ratio = {
  readonly name: LoadName;
  readonly unit: string;
  readonly isLessBetter: boolean;
  /** One for each round with both. */
  readonly rounds: readonly number[];
};

/** Processor time comes first, because it depends least on other load. */
const FIGURES: readonly {
  readonly unit: string;
  readonly isLessBetter: boolean;
  readonly read: (measured: Measured) => number | null;
}[] = [
  { unit: 'server CPU', isLessBetter: true, read: ({ serverCpuUs }) => serverCpuUs },
  { unit: 'PostgreSQL CPU', isLessBetter: true, read: ({ postgresCpuUs }) => postgresCpuUs },
  { unit: 'per second', isLessBetter: false, read: ({ perSecond }) => perSecond },
  { unit: 'p50', isLessBetter: true, read: ({ p50Ms }) => p50Ms },
];

/** Compares each round of this build with the same round of the earlier one. */
export function ratiosOf(samples: readonly Sample[]): Ratio[] {
  const names = [...new Set(samples.map(({ name }) => name))];
  return names.flatMap((name) =>
    FIGURES.map(({ unit, isLessBetter, read }) => {
      const ofSystem = (isEarlier: boolean) =>
        samples.filter((one) => one.name === name && (one.system === EARLIER) === isEarlier);
      const rounds = ofSystem(false).flatMap(({ round, measured }) => {
        const earlier = ofSystem(true).find((one) => one.round === round)?.measured;
        const [now, before] = [read(measured), earlier === undefined ? null : read(earlier)];
        return now === null || before === null ? [] : now / before;
      });
      return { name, unit, isLessBetter, rounds };
    }).filter(({ rounds }) => rounds.length > 0),
  );
}

/** More than the noise between two runs of the same build. */
const WORSE_BY = 1.03;

/** Whether every round was worse: with mere noise, some rounds would be better. */
export function isWorseInEveryRound({ isLessBetter, rounds }: Ratio): boolean {
  return rounds.every((ratio) => (isLessBetter ? ratio : 1 / ratio) > WORSE_BY);
}

export function ratiosTable(ratios: readonly Ratio[]): string {
  const rows = ratios.map((ratio) => [
    ratio.name,
    ratio.unit,
    figure(median(ratio.rounds)),
    `${figure(Math.min(...ratio.rounds))} to ${figure(Math.max(...ratio.rounds))}`,
    isWorseInEveryRound(ratio) ? '**yes**' : 'no',
  ]);
  return table(
    ['', 'relative to the earlier commit', 'ratio', 'spread', 'worse in every round'],
    rows,
  );
}
