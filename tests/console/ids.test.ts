import { expect, test } from 'vitest';
import { openConsole } from '../support/browser/console-pages.ts';
import { createDatabase } from '../support/postgres/test-database.ts';
import { openPipeline } from '../support/service/pipelines.ts';
import { receivedEvent } from '../support/stripe/events.ts';

const { database } = await createDatabase();
const pages = await openConsole(database);

test('a long id begins and ends with what tells it from others, and is whole when it is copied', async () => {
  const eventIds = ['evt_1QxKf2LkdIwHu7ixHh3RzYtC', 'evt_1QxKf2LkdIwHu7ixeRlqHVzs'];
  for (const eventId of eventIds) await openPipeline(database)([receivedEvent({ eventId })]);
  const { html } = await pages.get('/events');
  const parts =
    /<bdi class="id" title="([^"]+)"><span>(\w*)<\/span><span>(\w*)<\/span>(\w*)<\/bdi>/g;
  const found = [...html.matchAll(parts)];
  expect(found.map(([, , start, , end]) => `${start}…${end}`).sort()).toEqual([
    'evt_1QxK…Hh3RzYtC',
    'evt_1QxK…eRlqHVzs',
  ]);
  for (const [, whole, ...rest] of found) expect(rest.join('')).toBe(whole);
});
