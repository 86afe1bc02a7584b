import { measureAccessOf } from './measures/access.ts';
import { type CompareOptions, compare, type Sample } from './measures/compare.ts';
import { measureConsole } from './measures/console.ts';
import { watchMemory } from './measures/memory.ts';
import type { Step } from './options.ts';
import { accessReport, relativeAccessGoal } from './report/access-report.ts';
import { comparisonChart, comparisonReport } from './report/comparison-report.ts';
import { consoleReport } from './report/console-report.ts';
import { figure } from './report/format.ts';
import {
  GOAL_MEASURES,
  GOAL_SYSTEMS,
  type Goal,
  goalsOf,
  goalsTableOfRuns,
} from './report/goals.ts';
import { problemLines } from './report/loads-table.ts';
import { memoryReport } from './report/memory-report.ts';
import type { Report } from './report/page.ts';
import { isWorseInEveryRound, ratiosOf, ratiosTable } from './report/ratios.ts';
import { sampleLine } from './report/sample-line.ts';

type StepOptions = Omit<CompareOptions, 'onSample'> & {
  readonly machine: string;
  readonly print: (text: string) => void;
};

type StepResult = {
  readonly report: Report;
  readonly chart: string | null;
  /**
   * Whether every response was correct, everything acknowledged was stored, and nothing is slower than in the
   * commit to compare with.
   */
  readonly isValid: boolean;
};

/** How often the goals are measured. */
const RUNS = 3;

/** The steps of the command line. */
export const STEPS: Readonly<Record<Step, (context: StepOptions) => Promise<StepResult>>> = {
  async compare({ machine, print, ...context }) {
    const onSample = (sample: Sample) => print(sampleLine(sample));
    const comparison = await compare({ ...context, onSample });
    const isSound = problemLines(comparison).length === 0;
    if (context.options.against !== null) {
      const ratios = ratiosOf(comparison.samples);
      const isValid = isSound && !ratios.some(isWorseInEveryRound);
      return { report: { figures: ratiosTable(ratios), goals: '' }, chart: null, isValid };
    }
    return {
      report: comparisonReport(comparison, { options: context.options, machine }),
      chart: comparisonChart(comparison),
      isValid: isSound,
    };
  },

  async goals({ machine, print, ...context }) {
    const onSample = (sample: Sample) => print(sampleLine(sample));
    const { rounds, seconds, teams } = context.options;
    const compared = { ...context.options, only: GOAL_SYSTEMS, measures: GOAL_MEASURES };
    const runs: Goal[][] = [];
    const problems: string[] = [];
    for (let run = 1; run <= RUNS; run += 1) {
      const comparison = await compare({ ...context, options: compared, onSample });
      problems.push(...problemLines(comparison));
      // The view reads no event, so the log can be short.
      const short = { ...context.options, events: teams };
      const access = await measureAccessOf({ ...context, options: short }, print);
      runs.push([...goalsOf(comparison), relativeAccessGoal(access)]);
    }
    const head = `Measured on ${machine}, in ${RUNS} runs. Rounds in each: ${rounds}, with ${seconds} s for each measurement.`;
    const goals = [head, ...problems, goalsTableOfRuns(runs)].join('\n\n');
    return { report: { figures: null, goals }, chart: null, isValid: problems.length === 0 };
  },

  async access({ machine, print, ...context }) {
    const times = await measureAccessOf(context, print);
    const report = accessReport(times, { options: context.options, machine });
    return { report, chart: null, isValid: true };
  },

  async memory({ machine, print, ...context }) {
    const watch = await watchMemory(context, (megabytes) => print(figure(megabytes, ' MB')));
    const { minutes } = context.options;
    const problems = [...watch.events.problems, ...watch.profiles.problems];
    const report = memoryReport(watch, { minutes, machine });
    return { report, chart: null, isValid: problems.length === 0 };
  },

  async console({ machine, print, ...context }) {
    const measured = await measureConsole(context, print);
    const report = consoleReport(measured, { options: context.options, machine });
    return { report, chart: null, isValid: measured.every(({ problem }) => !problem) };
  },
};
