import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { isComplete } from './tests/support/test-length.ts';

/** These run in `npm run test:all` only. */
const LONG = isComplete ? [] : ['tests/**/*.long.test.ts'];

/** These need the machine for themselves: what runs beside a flood would wait too long. */
const FLOODS = 'tests/faults/floods.test.ts';

/**
 * These watch which code runs, or replace a module, from its first import on, or register a tracer for the whole
 * process.
 */
const WATCHERS = [
  'tests/{fuzz/parsers,metrics/start,way-of-an-event}.test.ts',
  'tests/runtime/tracing.test.ts',
  'tests/console/async-storage.test.ts',
];

/**
 * Vitest begins with the files that took longest in the last run, or, in a new clone, with the largest. These are small
 * and take long: at the end they would leave processors idle.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      /[/]tests[/](faults|simulation)[/]/.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  // The packages by name, from their sources.
  resolve: { tsconfigPaths: true },
  test: {
    globalSetup: 'tests/support/global-setup.ts',
    setupFiles: ['tests/support/setup.ts'],
    expect: { poll: { timeout: 20_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Each worker imports the sources once: importing them for each file took a sixth of the time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      // They mostly wait for processes that they started, so several fit on a core.
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['tests/**/*.test.ts'],
          exclude: [FLOODS, ...WATCHERS, ...LONG],
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'watchers',
          include: WATCHERS,
          exclude: LONG,
          isolate: true,
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'floods',
          include: [FLOODS],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
