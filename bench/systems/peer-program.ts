import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { API_KEY, AUTH_SECRET, WEBHOOK_SECRET } from './settings.ts';

/** A peer's server. It is plain JavaScript, so that its types are not part of this project. */
export function peerProgram(name: string): string {
  return fileURLToPath(new URL(`../../../peers/${name}.js`, import.meta.url));
}

export function peerEnvironment(databaseUrl: string): Record<string, string> {
  return {
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    STRIPE_SECRET_KEY: API_KEY,
    STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    AUTH_SECRET,
  };
}

/** Lets a peer create its own tables. */
export async function migratePeer(
  name: string,
  databaseUrl: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const env = { PATH: process.env.PATH, ...peerEnvironment(databaseUrl), ...variables };
  await promisify(execFile)(process.execPath, [peerProgram(name), 'migrate'], { env });
}
