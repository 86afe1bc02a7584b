/**
 * Whether this is `npm run test:all`, which runs everything at full length. `npm test` takes a few minutes.
 */
export const isComplete = process.env.INSTEP_TEST_ALL === '1';

/** The number of repetitions in `npm test`, and in `npm run test:all`. */
export function repetitions(quick: number, complete: number): number {
  return isComplete ? complete : quick;
}

/** The first cases in `npm test`, and all of them in `npm run test:all`. */
export function someOf<const Case>(quick: number, cases: readonly Case[]): readonly Case[] {
  return isComplete ? cases : cases.slice(0, quick);
}
