import { execFileSync } from 'node:child_process';
import { Server } from 'node:http';
import { createLogger } from 'instep/src/runtime/logging.ts';
import { connectionsWithin, openListener, readOpenFilesLimit } from 'instep/src/server/listener.ts';
import { expect, onTestFinished, test } from 'vitest';

test.skipIf(process.platform !== 'linux')('reads the limit of the process', () => {
  // Node raises it to the hard limit.
  const limit = execFileSync('/bin/sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  expect(String(readOpenFilesLimit())).toBe(limit === 'unlimited' ? 'Infinity' : limit);
});

test('leaves files for the database and for modules, and at least 8 for connections', () => {
  expect(connectionsWithin(1_024)).toBe(904);
  expect(connectionsWithin(256)).toBe(136);
  expect(connectionsWithin(1_024, 50)).toBe(854);
  expect(connectionsWithin(16)).toBe(8);
  expect(connectionsWithin(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
});

test('connections that can not be accepted are logged, and the server goes on', async () => {
  const lines: string[] = [];
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    portVariable: 'PORT',
    maxConnections: 10,
    onRequest({ socket }, response) {
      if (!('server' in socket && socket.server instanceof Server))
        throw new TypeError('no server');
      socket.server.emit('error', new Error('accept EMFILE'));
      response.end('ok');
    },
    logger: createLogger('info', { write: (line) => lines.push(line) }),
  });
  onTestFinished(() => listener.close(0));
  for (let time = 0; time < 3; time += 1) {
    expect(await (await fetch(listener.url)).text()).toBe('ok');
  }
  expect(lines.filter((line) => line.includes('accept EMFILE'))).toHaveLength(3);
});
