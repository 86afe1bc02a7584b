import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const PROGRAM = new URL('write-log-lines.js', import.meta.url).pathname;

/** Writes lines as fast as it can while its output is not read, and then says so. */
async function writeUnread(lines: number): Promise<ChildProcess> {
  const child = fork(PROGRAM, [String(lines)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  expect(await once(child, 'message')).toEqual(['written', undefined]);
  return child;
}

async function readLines({ stdout }: ChildProcess): Promise<Record<string, unknown>[]> {
  if (stdout === null) throw new Error('no output');
  const lines = (await text(stdout)).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

test('a reader that pauses gets every line that fits into the buffer', async () => {
  const child = await writeUnread(2_000);
  const reading = readLines(child);
  child.disconnect();
  const lines = await reading;
  expect(lines.map(({ number }) => number)).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
});

test('a process whose output is never read exits', async () => {
  const child = await writeUnread(100_000);
  const exited = once(child, 'exit');
  child.send('exit');
  expect(await exited).toEqual([0, null]);
});
