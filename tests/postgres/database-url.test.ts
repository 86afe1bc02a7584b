import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { parseDatabaseUrl, UnfitUrl } from '../support/internals/database.ts';

const connectionOf = (url: string) => parseDatabaseUrl(url).connection;
const tlsOf = (parameters: string) => connectionOf(`postgres://app@db/app?${parameters}`).ssl;

function problemOf(url: string): string {
  try {
    parseDatabaseUrl(url);
  } catch (error) {
    if (error instanceof UnfitUrl) return `${error.problem}: ${error.remedy}`;
    throw error;
  }
  return '';
}

const folder = mkdtempSync(join(tmpdir(), 'instep-certificates-'));
const ca = join(folder, 'ca.pem');
writeFileSync(ca, 'an issuer');
afterAll(() => rmSync(folder, { recursive: true }));

test('each part of an address is read, whatever characters it has', () => {
  // A URL drops `.` and `..` from its path.
  const part = fc.string({ minLength: 1, maxLength: 12 }).filter((text) => !/^\.+$/.test(text));
  const port = fc.integer({ min: 1, max: 65_535 });
  const property = fc.property(part, part, part, port, (user, password, database, number) => {
    const [name, secret, path] = [user, password, database].map(encodeURIComponent);
    const url = `postgres://${name}:${secret}@db.example:${number}/${path}`;
    expect(connectionOf(url)).toMatchObject({ user, password, database, port: number });
  });
  fc.assert(property);
});

test.each([
  ['postgres://localhost/app\n', { host: 'localhost', database: 'app', user: undefined }],
  ['postgres://u:a:b@h/db', { user: 'u', password: 'a:b' }],
  ['postgresql://u:p@[::1]:2/db?target_session_attrs=read-write', { host: '::1', port: 2 }],
  ['postgres://u:p@/db?host=/cloudsql/p:r:i', { host: '/cloudsql/p:r:i', user: 'u' }],
  ['postgres://%2Fvar%2Frun%2Fpostgresql/db', { host: '/var/run/postgresql', port: undefined }],
  ['postgres:///db', { host: undefined, database: 'db' }],
])('%s', (url, parts) => {
  expect(connectionOf(url)).toMatchObject(parts);
});

test.each([
  ['postgres://u:50%ab@h/db', /begins no escape: write it as %25/],
  ['postgres://%ff@h/db', /begins no escape: write it as %25/],
  ['postgres://u:canary/canary@h/db', /write @ as %40/],
  ['postgres://u:p@h:port/db', /must be embedded, or a URL/],
  ['postgres://u:p@h/db?sslrootcert=/nope', /^has the parameter sslrootcert, .*ENOENT.*PEM file$/],
])('%s is refused: %s', (url, problem) => {
  expect(problemOf(url)).toMatch(problem);
  expect(problemOf(url)).not.toContain('canary');
});

test.each(['ssl=false', 'ssl=off', 'ssl=no', 'ssl=0', 'ssl=disable', 'sslmode=disable&ssl=true'])(
  'no TLS: %s',
  (parameters) => {
    expect(tlsOf(parameters)).toBe(false);
  },
);

test.each([
  ...['ssl=true', 'ssl=1', 'ssl=on', 'ssl=yes', 'ssl=require', 'ssl=prefer', 'sslmode=prefer'],
  ...[
    'ssl=maybe',
    'sslmode=allow',
    'sslmode=require',
    'sslmode=verify-ca',
    'sslmode=verify-full',
    'sslrootcert=system',
  ],
])('the server is verified, by the issuers that Node.js trusts: %s', (parameters) => {
  expect(tlsOf(parameters)).toEqual({ ca: undefined, cert: undefined, key: undefined });
});

test.each([
  [`sslrootcert=${ca}`, { ca: 'an issuer' }],
  [`sslmode=no-verify&sslcert=${ca}&sslkey=${ca}`, { cert: 'an issuer', key: 'an issuer' }],
  ['ssl=no-verify', { rejectUnauthorized: false }],
])('TLS: %s', (parameters, options) => {
  expect(tlsOf(parameters)).toMatchObject(options);
});

test('without a parameter, PGSSLMODE decides', () => {
  expect(tlsOf('')).toBeUndefined();
});

test.each([
  ['search_path=app', ['app']],
  ['search_path=app,%20Our%20App,public', ['app', 'Our App', 'public']],
  ['currentSchema=app,public', ['app', 'public']],
  ['schema=MyApp', ['MyApp']],
  ['schema=', null],
  ['application_name=x', null],
])('the search path of %s', (parameters, searchPath) => {
  expect(parseDatabaseUrl(`postgres://app@localhost/app?${parameters}`)).toMatchObject({
    searchPath,
  });
});

test('the options of libpq are kept', () => {
  const parameters = 'options=-c%20geqo%3Doff%20-c%20search_path%3Dapp';
  expect(connectionOf(`postgres://app@db/app?${parameters}`).options).toBe(
    '-c geqo=off -c search_path=app',
  );
});
