/** Whether `npm run test:all` runs: everything, at full length. `npm test` takes a few minutes. */
export const isComplete = process.env.INSTEP_TEST_ALL === '1';

/** How often to repeat something: in `npm test`, and in `npm run test:all`. */
export function repetitions(quick: number, complete: number): number {
  return isComplete ? complete : quick;
}
