import { createHmac } from 'node:crypto';
import {
  issueSession,
  type Session,
  secretKeys,
  verifySession,
} from 'instep-engine/src/http/session-token.ts';
import { expect } from 'vitest';
import type { Target } from '../fuzz.ts';

const NOW_MS = 1_700_000_000_000;
const SECRETS = ['the current secret of at least 32 bytes', 'the older secret, of 32 bytes too'];
const KEYS = secretKeys(SECRETS);
const [CURRENT = '', OLDER = ''] = SECRETS;

const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64url');
const macOf = (signed: string, secret: string, hash = 'sha256') =>
  createHmac(hash, secret).update(signed).digest();

/** Signatures and texts in place of one. Only the first two are ours. */
const SIGNERS: Readonly<Record<string, (signed: string) => string>> = {
  current: (signed) => macOf(signed, CURRENT).toString('base64url'),
  older: (signed) => macOf(signed, OLDER).toString('base64url'),
  sha512: (signed) => macOf(signed, CURRENT, 'sha512').toString('base64url'),
  other: (signed) => macOf(signed, 'another secret of more than 32 bytes').toString('base64url'),
  none: () => '',
};

const HS256 = '{"alg":"HS256"}';
const USER = '{"user":{"id":7},"expires":"2030-01-01T00:00:00.000Z"}';
const CLAIMS = [
  USER,
  '{"user":{"id":2147483647},"exp":1700000001,"nbf":1699999999,"iat":1699999999}',
  '{"user":{"id":7},"exp":1700000001,"expires":"2023-11-14T22:13:20.001+00:00"}',
  '{"user":{"id":7},"exp":1699999999}',
  '{"user":{"id":7},"exp":1700000001,"nbf":1700000002}',
  '{"user":{"id":7}}',
  '{"user":{"id":"0b41c1de-95a4-4c0b-a7a4-3f5b0e5d3c52"},"exp":1700000001}',
];

function tokenOf(header: string, payload: string, signer: string): string {
  const signed = `${base64(header)}.${base64(payload)}`;
  const sign = Object.hasOwn(SIGNERS, signer) ? SIGNERS[signer] : SIGNERS.none;
  return `${signed}.${sign?.(signed)}`;
}

/** An accepted token must be signed by us, and must contain what was read from it. */
function checkSession(token: string, session: Session): void {
  const [header = '', payload = '', signature = '', ...more] = token.split('.');
  expect(more).toEqual([]);
  const given = Buffer.from(signature, 'base64url');
  const macs = SECRETS.map((secret) => macOf(`${header}.${payload}`, secret));
  expect(macs.some((mac) => mac.equals(given))).toBe(true);

  const decoded = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString());
  expect(decoded(header).alg).toBe('HS256');
  const { user, exp, expires, nbf } = decoded(payload);
  const ends = [
    exp === undefined ? [] : exp * 1_000,
    expires === undefined ? [] : Date.parse(expires),
  ];
  expect(session).toStrictEqual({ userId: user.id, expiresAtMs: Math.min(...ends.flat()) });
  const { userId } = session;
  const isNumber = Number.isSafeInteger(userId) && Number(userId) > 0;
  expect(isNumber || (typeof userId === 'string' && /^\P{Cc}{1,255}$/u.test(userId))).toBe(true);
  expect(session.expiresAtMs).toBeGreaterThan(NOW_MS);
  expect((nbf ?? 0) * 1_000).toBeLessThanOrEqual(NOW_MS);
}

async function isSession(token: string): Promise<boolean> {
  const session = await verifySession(token, KEYS, NOW_MS);
  if (typeof session === 'string') return false;
  checkSession(token, session);
  return true;
}

const issued = await issueSession(7, CURRENT, {
  nowMs: NOW_MS,
  lifetimeMs: 60_000,
});
const tokens = [
  issued,
  tokenOf(HS256, USER, 'older'),
  tokenOf(HS256, USER, 'other'),
  tokenOf('{"alg":"HS512"}', USER, 'sha512'),
  tokenOf('{"alg":"none"}', USER, 'none'),
];

/** A raw token. */
export const sessionToken: Target = {
  seeds: tokens,
  dictionary: [
    ...tokens.flatMap((token) => token.split('.')),
    '.',
    '=',
    '+',
    '/',
    '-',
    '_',
    '\n',
    '\0',
  ],
  check: isSession,
};

/** The header of a token, its claims and its signer, on one line each. */
export const signedSession: Target = {
  seeds: [
    ...CLAIMS.map((claims) => `${HS256}\n${claims}\ncurrent`),
    ...Object.keys(SIGNERS).map((signer) => `${HS256}\n${USER}\n${signer}`),
    `{"alg":"HS512","typ":"JWT"}\n${USER}\nsha512`,
    `{"alg":"none"}\n${USER}\nnone`,
    `{"alg":"HS256","crit":["b64"],"b64":false}\n${USER}\ncurrent`,
  ],
  dictionary: [
    ...Object.keys(SIGNERS).map((signer) => `\n${signer}`),
    ...[
      HS256,
      '"alg"',
      '"HS384"',
      '"RS256"',
      '"none"',
      '"typ"',
      '"crit"',
      '"b64"',
      '"kid"',
      '"zip"',
    ],
    ...['"user"', '"id"', '"exp"', '"nbf"', '"iat"', '"expires"', '"__proto__"', '"constructor"'],
    ...[
      '1',
      '0',
      '-1',
      '1.5',
      '1e999',
      '1e306',
      '2147483648',
      '1700000001',
      'null',
      'true',
      '{}',
      '[]',
    ],
    ...['""', '"2030-01-01T00:00:00Z"', '"2030-01-01T00:00:00+23:59"', '"2030-02-30T00:00:00Z"'],
  ],
  check(input) {
    const [header = '', payload = '', signer = ''] = input.split('\n');
    return isSession(tokenOf(header, payload, signer));
  },
};
