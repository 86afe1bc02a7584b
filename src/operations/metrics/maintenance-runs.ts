import type { Job } from '../../maintenance/worker.ts';
import type { Instruments } from './instruments.ts';

const BOUNDS_SECONDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600];

/** Counts and times what the keeper does. */
export function observeMaintenance(instruments: Instruments, clockMs: () => number) {
  const durations = instruments.histogram({
    name: 'instep_keeper_run_duration_seconds',
    help: 'How long a task of the keeper looked for what is out of step and repaired it, by task and result.',
    labelNames: ['task', 'result'],
    bounds: BOUNDS_SECONDS,
  });

  return (tasks: readonly Job[]): Job[] =>
    tasks.map((task) => {
      const done = durations.with({ task: task.name, result: 'done' });
      const failed = durations.with({ task: task.name, result: 'failed' });
      return {
        ...task,
        async run(signal) {
          const beganMs = clockMs();
          const tookSeconds = () => (clockMs() - beganMs) / 1_000;
          try {
            await task.run(signal);
          } catch (error) {
            failed.observe(tookSeconds());
            throw error;
          }
          done.observe(tookSeconds());
        },
      };
    });
}
