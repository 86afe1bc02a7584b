import { type CompareOptions, compare, type Sample } from './measures/compare.ts';
import { measureConsole } from './measures/console.ts';
import { measureGrowth } from './measures/growth.ts';
import { watchMemory } from './measures/memory.ts';
import type { Step } from './options.ts';
import { comparisonChart, comparisonReport } from './report/comparison-report.ts';
import { consoleReport } from './report/console-report.ts';
import { figure } from './report/figures.ts';
import { growthReport } from './report/growth-report.ts';
import { memoryReport } from './report/memory-report.ts';
import { sampleLine } from './report/sample-line.ts';

export type StepOptions = Omit<CompareOptions, 'onSample'> & {
  readonly machine: string;
  readonly tell: (text: string) => void;
};

export type StepResult = {
  readonly report: string;
  readonly chart: string | null;
  /** Whether every answer was right, and all that was acknowledged was there. */
  readonly isSound: boolean;
};

/** What each step of the command line does. */
export const STEPS: Readonly<Record<Step, (told: StepOptions) => Promise<StepResult>>> = {
  async compare({ machine, tell, ...told }) {
    const onSample = (sample: Sample) => tell(sampleLine(sample));
    const comparison = await compare({ ...told, onSample });
    return {
      report: comparisonReport(comparison, { options: told.options, machine }),
      chart: comparisonChart(comparison),
      isSound: areSound(comparison.samples),
    };
  },

  async growth({ machine, tell, ...told }) {
    const onSample = (sample: Sample) => tell(sampleLine(sample));
    const samples = await measureGrowth({ ...told, onSample }, tell);
    const report = growthReport(samples, { options: told.options, machine });
    return { report, chart: null, isSound: areSound(samples) };
  },

  async memory({ machine, tell, ...told }) {
    const watch = await watchMemory(told, (megabytes) => tell(figure(megabytes, ' MB')));
    const { minutes } = told.options;
    const problems = [...watch.events.problems, ...watch.profiles.problems];
    const report = memoryReport(watch, { minutes, machine });
    return { report, chart: null, isSound: problems.length === 0 };
  },

  async console({ machine, tell, ...told }) {
    const measured = await measureConsole(told, tell);
    const report = consoleReport(measured, { options: told.options, machine });
    return { report, chart: null, isSound: measured.pages.every(({ problem }) => !problem) };
  },
};

function areSound(samples: readonly Sample[]): boolean {
  return samples.every(({ measured }) => measured.problems.length === 0);
}
