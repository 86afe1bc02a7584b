import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, test, vi } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';

// In Node 20 and 22, the first use makes every promise of the process slower, for as long as the process runs.
test('pages and forms use no AsyncLocalStorage', async () => {
  const { database } = await createDatabase();
  const run = vi.spyOn(AsyncLocalStorage.prototype, 'run');
  const enterWith = vi.spyOn(AsyncLocalStorage.prototype, 'enterWith');
  const pages = await openConsole(database);
  for (const path of ['/', '/attention', '/teams', '/events', '/compare', '/search?q=none']) {
    expect((await pages.get(path)).status).toBe(200);
  }
  expect((await pages.get('/nothing')).status).toBe(404);
  expect((await pages.post('/actions', { action: 'none' })).status).toBe(400);
  expect(run).not.toHaveBeenCalled();
  expect(enterWith).not.toHaveBeenCalled();
});

test('the console leaves the modules of Node as they are', async () => {
  const find = process.getBuiltinModule;
  await openConsole((await createDatabase()).database);
  expect(process.getBuiltinModule).toBe(find);
});
