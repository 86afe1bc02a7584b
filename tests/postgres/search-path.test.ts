import { takeSearchPath } from 'instep/src/postgres/database-url.ts';
import { expect, test } from 'vitest';

const URL_OF = 'postgres://app@localhost/app?sslmode=disable';

test.each([
  ['search_path=app', ['app']],
  ['search_path=App,%20"Our%20App",public', ['app', 'Our App', 'public']],
  ['currentSchema=app,public', ['app', 'public']],
  ['schema=MyApp', ['MyApp']],
  ['options=-c%20search_path%3Dapp,public', ['app', 'public']],
  ['options=--search-path=app', ['app']],
  ['options=-csearch_path%3D%22Our%5C%20App%22', ['Our App']],
  ['schema=', null],
  ['application_name=x', null],
])('%s', (parameters, schemas) => {
  const taken = takeSearchPath(new URL(`${URL_OF}&${parameters}`));
  expect(taken.schemas).toEqual(schemas);
  expect(taken.url.href).not.toMatch(/schema|search.path/i);
});

test('other options are kept', () => {
  const url = new URL(`${URL_OF}&options=-c%20geqo%3Doff%20-c%20search_path%3Dapp`);
  expect(takeSearchPath(url).url.searchParams.get('options')).toBe('-c geqo=off');
});
