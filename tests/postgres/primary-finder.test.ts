import type { ReplicationState } from 'instep/src/postgres/primary-finder.ts';
import { PrimaryFinder } from 'instep/src/postgres/primary-finder.ts';
import { expect, test } from 'vitest';

const primary = (timeline: number | null, systemId = 'one'): ReplicationState => ({
  isStandby: false,
  systemId,
  timeline,
});
const standby = (timeline: number | null): ReplicationState => ({
  ...primary(timeline),
  isStandby: true,
});

/** Servers in these states; `away` is a server that refuses connections. */
function watch(...initial: (ReplicationState | 'away')[]) {
  const states = initial;
  const left: number[] = [];
  let nowMs = 0;
  let questions = 0;
  const finder = new PrimaryFinder({
    servers: states.map((_, index) => async () => {
      questions += 1;
      const state = states[index];
      if (state === undefined || state === 'away') throw new Error('away');
      return state;
    }),
    onLeave: (index) => left.push(index),
    clockMs: () => nowMs,
  });
  return {
    finder,
    left,
    states,
    questions: () => questions,
    /** Makes the earlier answers too old. */
    async findLater() {
      nowMs += 3_000;
      left.length = 0;
      return await finder.find();
    },
  };
}

test('stays with the first of two primaries on the same timeline', async () => {
  expect(await watch(primary(1), primary(1)).finder.find()).toBe(0);
});

test('chooses the server that is not a standby', async () => {
  expect(await watch(standby(1), primary(1)).finder.find()).toBe(1);
  expect(await watch('away', primary(1)).finder.find()).toBe(1);
});

test('leaves a replaced primary that has not noticed it', async () => {
  const servers = watch(primary(1), standby(1));
  expect(await servers.finder.find()).toBe(0);
  servers.states[1] = primary(2);
  expect(await servers.findLater()).toBe(1);
  expect(servers.left).toContain(0);
});

test('never returns to a replaced primary, even if the new one is unreachable', async () => {
  const { finder, states, findLater } = watch(primary(1), primary(2));
  expect(await finder.find()).toBe(1);
  states[1] = 'away';
  expect(await findLater()).toBe(1);
  expect(() => finder.verify(primary(1))).toThrow(/replaced .* timeline 1, the newest is 2/);
  finder.verify(primary(2));
});

test('learns from a standby that the primary was replaced', async () => {
  const servers = watch(primary(1), standby(2));
  await servers.finder.find();
  expect(servers.left).toContain(0);
  expect(() => servers.finder.verify(primary(1))).toThrow(/replaced/);
});

test('accepts a server of another system on any timeline', async () => {
  const { finder, states, findLater } = watch(primary(5), 'away');
  await finder.find();
  states[0] = 'away';
  states[1] = primary(1, 'other');
  expect(await findLater()).toBe(1);
  finder.verify(primary(1, 'other'));
});

test('tries the next server after a failure when timelines can’t be read', async () => {
  const { finder, findLater } = watch(primary(null), primary(null), standby(null));
  expect(await finder.find()).toBe(0);
  finder.suspect();
  expect(await finder.find()).toBe(1);
  expect(await findLater()).toBe(1);
  finder.suspect();
  expect(await finder.find()).toBe(0);
});

test('stays with the only primary after a failure', async () => {
  const { finder, left } = watch(primary(1), standby(1));
  expect(await finder.find()).toBe(0);
  finder.suspect();
  expect(await finder.find()).toBe(0);
  expect(left).not.toContain(0);
});

test('asks at most once a second, and never asks a single server', async () => {
  const { finder, questions, findLater } = watch(primary(1), standby(1));
  for (let count = 0; count < 100; count += 1) await finder.find();
  expect(questions()).toBe(2);
  await findLater();
  expect(questions()).toBe(4);
  const alone = watch(primary(1));
  await alone.finder.find();
  expect(alone.questions()).toBe(0);
});

test('does not wait again for a server that gave no answer', async () => {
  const never = new Promise<ReplicationState>(() => undefined);
  const finder = new PrimaryFinder({
    servers: [async () => primary(1), () => never],
    onLeave: () => undefined,
    clockMs: () => performance.now(),
  });
  expect(await finder.find()).toBe(0);
  finder.suspect();
  // The timer of the unanswered query is still pending.
  expect(await Promise.race([finder.find(), new Promise(setImmediate)])).toBe(0);
});
