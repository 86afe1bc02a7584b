import { afterAll, afterEach, expect } from 'vitest';

/** A canary (`canaries.ts`), and where none can stand: a session's token, a webhook's signature. */
const SECRET = /canary[A-Z]\w*|\beyJ[\w-]+\.[\w-]+\.[\w-]+|\bv1=[\da-f]{64}/g;

/** What a profile holds by the contract, and how one looks. */
const OF_PROFILE = /^canary(?:Email|Name|PasswordHash)/;
const PROFILE = /^\{"id":\d+,"name":/;

/** What an event may hold, and the operators' pages that are there to show what arrived. */
const OF_PAYLOAD = /^canary(?:Description|Metadata|MetadataEmail|CustomerEmail|BillingName)$/;
const PAYLOAD = /\/events\/\d+(?:\/body|\/replay)?$/;

/** The commands that are there to write a token. */
const WRITES_TOKEN = /^(?:session|demo)\b/;

const leaks: string[] = [];

/** What was found until now, each with the line that it stood in; and forgets it. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}

// What comes out between two tests counts for the next one, or for the file.
for (const after of [afterEach, afterAll]) {
  after(() => expect(takeLeaks()).toEqual([]));
}

/** Looks for what nobody may read. The test that runs fails of it. */
function look(where: string, text: string, mayHold: (secret: string, line: string) => boolean) {
  for (const line of text.split('\n')) {
    for (const [secret] of line.matchAll(SECRET)) {
      if (!mayHold(secret, line)) leaks.push(`${secret} in ${where}: ${line}`);
    }
  }
}

/** Looks at what the command wrote that was started with these arguments. */
export function lookAtOutput(args: readonly string[], text: string): void {
  const command = args.join(' ');
  const mayHold = (secret: string) => WRITES_TOKEN.test(command) && secret.startsWith('eyJ');
  look(`the output of instep ${command}`, text, mayHold);
}

/** Looks at what came back from this URL. */
export function lookAtAnswer(url: string, text: string): void {
  const mayHold = (secret: string, line: string) =>
    (OF_PROFILE.test(secret) && PROFILE.test(line)) ||
    (OF_PAYLOAD.test(secret) && PAYLOAD.test(url));
  look(`the answer of ${url}`, text, mayHold);
}

const { fetch } = globalThis;

/** What Instep itself requests: its answers are Stripe's, and hold payloads. */
const OF_STRIPE = /^\/v1\//;

/** Looks at every answer before the test has it. */
globalThis.fetch = async (...request) => {
  const [resource, init] = request;
  const { pathname } = new URL(resource instanceof Request ? resource.url : resource);
  if (OF_STRIPE.test(pathname)) return await fetch(resource, init);
  const response = await fetch(resource, init);
  lookAtAnswer(response.url, JSON.stringify([...response.headers]));
  // When an answer is cut off, the test hears of that itself.
  lookAtAnswer(
    response.url,
    await response
      .clone()
      .text()
      .catch(() => ''),
  );
  return response;
};
