import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/repository.ts';

const files = ['packages/instep/src', 'packages/engine/src'].flatMap((source) =>
  readdirSync(join(ROOT, source), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('config/'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, source, path), 'utf8') })),
);

const mentioning = (names: RegExp) =>
  files.flatMap(({ path, text }) => (names.test(text) ? path : [])).sort();

test('signing secrets are read only where webhooks are verified, signed or checked', () => {
  expect(mentioning(/webhookSecrets|readWebhook(?:Secrets|Target)/)).toEqual([
    'cli/demo/command.ts',
    'cli/trigger.ts',
    'engine.ts',
    'instep.ts',
  ]);
});

test('session secrets are read only where sessions are verified, created or checked', () => {
  expect(mentioning(/authSecrets|read(?:Auth|Profile)Secrets/)).toEqual([
    'adapters/read-session.ts',
    'cli/demo/command.ts',
    'cli/setup.ts',
    'cli/user.ts',
    'doctor/examine.ts',
    'engine.ts',
    'instep.ts',
  ]);
});

test('no part is given the whole configuration', () => {
  const isStart = /^cli\/serve\.ts$|^cli\/demo\/|^instep\.ts$/;
  const given = mentioning(/\.\.\.config\b(?!\.)|: Config\b/);
  expect(given.filter((path) => !isStart.test(path))).toEqual([]);
});
