// Sends an event without a signature to a registered address, to see whether Instep answers there. stripe-api.ts calls it.

import { SIGNATURE_FAILED, WEBHOOK_PATH } from 'instep-engine/http';
import { asObject } from 'instep-engine/rule';
import { type Check, failure, warning } from './check.ts';

const ENDPOINT = 'webhook endpoint';
const TIMEOUT_MS = 5_000;

/** Without user, password and query, which can hold secrets. */
export function shown({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

/** What is wrong at the address; nothing, if it refuses the event as Instep does. */
export async function checkAddress(url: URL): Promise<Check[]> {
  const at = shown(url);
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: '{}',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'instep' },
      // Stripe takes a redirect for a failure.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    return isRefusal(response.status, text) ? [] : [answered(at, url, response)];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const result = `${at} did not answer this machine: ${cause instanceof Error ? cause.message : cause}`;
    const advice = 'check that it is reachable from the internet, where Stripe sends events from';
    return [warning(ENDPOINT, result, advice)];
  }
}

function isRefusal(status: number, text: string): boolean {
  if (status !== 400) return false;
  try {
    return asObject(JSON.parse(text))?.error === SIGNATURE_FAILED;
  } catch {
    return false;
  }
}

function answered(at: string, url: URL, { status, headers }: Response): Check {
  const location = headers.get('location');
  if (location !== null && URL.canParse(location, url.href)) {
    const target = shown(new URL(location, url));
    const result = `${at} redirects to ${target} (${status}): Stripe follows no redirects`;
    return failure(ENDPOINT, result, `register the address that answers itself, such as ${target}`);
  }
  const result = `${at} does not lead to Instep: it answers ${status} to an event without a signature, and not 400`;
  return failure(ENDPOINT, result, adviceFor(status));
}

function adviceFor(status: number): string {
  if (status === 404) {
    return `check the path: the app's own prefix (basePath of Next.js), then ${WEBHOOK_PATH}, and its end (trailingSlash)`;
  }
  if (status === 401 || status === 403)
    return 'let Stripe through: no login, no protection of deployments, no filter';
  if (status >= 500) return 'read the log of the app or of Instep there, and of the proxy in front';
  return 'let the app, or the proxy in front of it, pass this path on to Instep, unchanged';
}
