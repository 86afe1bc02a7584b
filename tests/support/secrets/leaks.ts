/** A canary (`test-secrets.ts`), a session token, or a webhook signature. */
const SECRET = /canary[A-Z]\w*|\beyJ[\w-]+\.[\w-]+\.[\w-]+|\bv1=[\da-f]{64}/g;

/** The canaries that a profile contains by the contract, and the shape of a profile. */
const OF_PROFILE = /^canary(?:Email|Name|PasswordHash)/;
const PROFILE = /^\{"id":\d+,"name":/;

/** The canaries that an event can contain, and the operators' pages that show events. */
const OF_PAYLOAD = /^canary(?:Description|Metadata|MetadataEmail|CustomerEmail|BillingName)$/;
const PAYLOAD = /\/events\/\d+(?:\/body|\?done=[\w-]+)?$/;

/** The commands that print a token. */
const WRITES_TOKEN = /^(?:session|demo)\b/;

const leaks: string[] = [];

/** Returns and clears the leaks so far, each with its line. */
export function takeLeaks(): string[] {
  return leaks.splice(0);
}

/** Searches a text for secrets. The running test fails if there is one. */
function search(where: string, text: string, mayHold: (secret: string, line: string) => boolean) {
  for (const line of text.split('\n')) {
    for (const [secret] of line.matchAll(SECRET)) {
      if (!mayHold(secret, line)) leaks.push(`${secret} in ${where}: ${line}`);
    }
  }
}

/** Checks the output of the command with these arguments. */
export function checkOutput(args: readonly string[], text: string): void {
  const command = args.join(' ');
  const mayHold = (secret: string) => WRITES_TOKEN.test(command) && secret.startsWith('eyJ');
  search(`the output of instep ${command}`, text, mayHold);
}

/** Checks the response from this URL. */
export function checkResponse(url: string, text: string): void {
  const mayHold = (secret: string, line: string) =>
    (OF_PROFILE.test(secret) && PROFILE.test(line)) ||
    (OF_PAYLOAD.test(secret) && PAYLOAD.test(url));
  search(`the answer of ${url}`, text, mayHold);
}

const { fetch } = globalThis;

/** Paths of Instep's own requests to Stripe, whose responses contain payloads. */
const OF_STRIPE = /^\/v1\//;

/** Checks every response before the test gets it. */
globalThis.fetch = async (...request) => {
  const [resource, init] = request;
  const { pathname } = new URL(resource instanceof Request ? resource.url : resource);
  if (OF_STRIPE.test(pathname)) return await fetch(resource, init);
  const response = await fetch(resource, init);
  checkResponse(response.url, JSON.stringify([...response.headers]));
  // The test itself notices a response that is cut off.
  checkResponse(
    response.url,
    await response
      .clone()
      .text()
      .catch(() => ''),
  );
  return response;
};
