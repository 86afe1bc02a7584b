import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { INSTEP } from '../support/repository.ts';

const SOURCE = join(INSTEP, 'src');

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('config/'))
  .map((path) => ({ path, text: readFileSync(join(SOURCE, path), 'utf8') }));

const mentioning = (names: RegExp) =>
  files.flatMap(({ path, text }) => (names.test(text) ? path : [])).sort();

test('signing secrets are read only where webhooks are verified, signed or checked', () => {
  expect(mentioning(/webhookSecrets|readWebhook(?:Secrets|Target)/)).toEqual([
    'cli/demo/command.ts',
    'cli/trigger.ts',
    'instep.ts',
  ]);
});

test('session secrets are read only where sessions are verified, created or checked', () => {
  expect(mentioning(/authSecrets|read(?:Auth|Profile)Secrets/)).toEqual([
    'cli/demo/command.ts',
    'cli/setup.ts',
    'cli/user.ts',
    'doctor/examine.ts',
    'instep.ts',
    'http/session-token.ts',
  ]);
});

test('no part is given the whole configuration', () => {
  const isStart = /^cli\/serve\.ts$|^cli\/demo\/|^instep\.ts$/;
  const given = mentioning(/\.\.\.config\b(?!\.)|: Config\b/);
  expect(given.filter((path) => !isStart.test(path))).toEqual([]);
});
