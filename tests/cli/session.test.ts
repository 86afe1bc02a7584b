import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { writeFiles } from '../support/init/starter-app.ts';
import { createFolder, runInstep } from '../support/process/instep-process.ts';
import { AUTH_SECRET } from '../support/secrets/test-secrets.ts';
import { useService } from '../support/service/contract-service.ts';

const service = useService();
const OTHER_SECRET = 'a secret that the server does not know';

function issue(args: readonly string[], environment: Record<string, string> = { AUTH_SECRET }) {
  return runInstep(['session', 'issue', ...args], environment);
}

const profileOf = async (cookie: string) => (await service.getUser(cookie)).json();

test('the cookie signs the user in', async () => {
  const { id, email } = await service.addUser();
  const { code, stdout, stderr } = await issue(['--user', String(id)]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^session=[\w.-]+\n$/);
  expect(await profileOf(stdout.trimEnd())).toMatchObject({ id, email });
});

test('--days sets the lifetime, --json shows the expiry, and the first secret signs', async () => {
  const { id } = await service.addUser();
  const args = ['--user', String(id), '--days', '30', '--json'];
  const first = await issue(args, { AUTH_SECRET: `${AUTH_SECRET},${OTHER_SECRET}` });
  const { cookie, expires, ...rest } = JSON.parse(first.stdout);
  expect(rest).toEqual({});
  expect(await profileOf(cookie)).toMatchObject({ id });
  const days = (Date.parse(expires) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(29.9);
  expect(days).toBeLessThanOrEqual(30);

  const second = await issue(args, { AUTH_SECRET: `${OTHER_SECRET},${AUTH_SECRET}` });
  expect(await profileOf(JSON.parse(second.stdout).cookie)).toBeNull();
});

const START = '0123456789abcdef0123456789abcdef';
const MANIFEST = { 'package.json': '{ "dependencies": { "next": "16.0.0" } }' };

/** Issues a cookie in a folder with these files. */
async function issueIn(files: Record<string, string>) {
  const folder = createFolder();
  writeFiles(folder, files);
  return await runInstep(['session', 'issue', '--user', '1'], {}, folder);
}

/** Whether a cookie is signed with this secret. */
function isSignedWith(secret: string, cookie: string): boolean {
  const [header, payload, signature] = cookie.trim().replace('session=', '').split('.');
  const signed = createHmac('sha256', secret).update(`${header}.${payload}`);
  return signed.digest('base64url') === signature;
}

test('a $ beside a Next.js app is an error that names the variable', async () => {
  const { code, stderr } = await issueIn({ ...MANIFEST, '.env': `AUTH_SECRET='${START}$END'\n` });
  expect(code).toBe(2);
  expect(stderr).toContain('AUTH_SECRET has a $, which Next.js replaces');
});

test('beside any other app, a $ is itself, and a byte order mark counts as none', async () => {
  const { code, stdout } = await issueIn({ '.env': `\uFEFFAUTH_SECRET='${START}$END'\n` });
  expect(code).toBe(0);
  expect(isSignedWith(`${START}$END`, stdout)).toBe(true);
});
