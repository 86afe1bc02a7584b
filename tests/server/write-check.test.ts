import { DatabaseUnusable } from 'instep/src/postgres/errors.ts';
import { createWriteCheck } from 'instep/src/server/health.ts';
import { expect, test } from 'vitest';

/** A database with its own clock. The test decides whether each commit is answered. */
function watch() {
  const state = { nowMs: 0, lastCommitMs: Number.NEGATIVE_INFINITY, tries: 0, isFailing: false };
  const check = createWriteCheck({
    lastCommitMs: () => state.lastCommitMs,
    async commit() {
      state.tries += 1;
      if (state.isFailing) throw new Error('no standby');
    },
    clockMs: () => state.nowMs,
  });
  return { state, check };
}

test('makes a test commit when no event was committed recently', async () => {
  const { state, check } = watch();
  await check();
  expect(state.tries).toBe(1);
  state.nowMs = 1_000;
  await check();
  expect(state.tries).toBe(1);
  state.nowMs = 10_000;
  await check();
  expect(state.tries).toBe(2);
});

test('makes no test commit while events are committed', async () => {
  const { state, check } = watch();
  for (state.nowMs = 0; state.nowMs < 60_000; state.nowMs += 1_000) {
    state.lastCommitMs = state.nowMs - 500;
    await check();
  }
  expect(state.tries).toBe(0);
});

test('rejects at once when no write was ever committed', async () => {
  const { state, check } = watch();
  state.isFailing = true;
  await expect(check()).rejects.toThrow(/^writes are not committed: .*synchronous_standby_names/);
});

test('rejects when writes fail for longer than the grace period, until one is committed', async () => {
  const { state, check } = watch();
  await check();
  state.isFailing = true;
  state.nowMs = 4_000;
  await check();
  state.nowMs = 8_000;
  await expect(check()).rejects.toThrow('not committed');
  state.lastCommitMs = 8_000;
  await check();
  state.isFailing = false;
  state.nowMs = 20_000;
  await check();
});

test('accepts a role that lacks permission for the check', async () => {
  const check = createWriteCheck({
    lastCommitMs: () => Number.NEGATIVE_INFINITY,
    commit: async () => {
      throw new DatabaseUnusable('permission denied for function pg_logical_emit_message');
    },
    clockMs: () => 0,
  });
  await check();
});

test('makes one test commit at a time, and does not wait for it within the grace period', async () => {
  let tries = 0;
  const check = createWriteCheck({
    lastCommitMs: () => 0,
    commit: () => {
      tries += 1;
      return new Promise(() => undefined);
    },
    clockMs: () => 3_000,
  });
  await check();
  await check();
  expect(tries).toBe(1);
});
