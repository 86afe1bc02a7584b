import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { writeFiles } from '../support/init/starter-app.ts';
import { createFolder, runInstep } from '../support/process/instep-process.ts';

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
