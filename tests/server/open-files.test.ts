import { Server } from 'node:http';
import { createLogger } from 'instep';
import { expect, onTestFinished, test } from 'vitest';
import { openListener } from '../support/internals/server.ts';

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
