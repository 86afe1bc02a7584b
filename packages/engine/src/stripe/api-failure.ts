// Why a call to Stripe's API failed, in words that say what to check.

import { asObject, type JsonObject } from '../rule/json.ts';
import { codeOf, InstepError } from '../runtime/errors.ts';

type FailedCall = ErrorOptions & Partial<Pick<StripeApiFailed, 'status' | 'retryAfterMs'>>;

/** Stripe's API did not answer, or did not return the requested object. */
export class StripeApiFailed extends InstepError {
  readonly code = 'STRIPE_API_FAILED';
  /** The status of the answer; `null` when there was none. */
  readonly status: number | null;
  /** The time that Stripe asks to wait before the next call; `null` when it states none. */
  readonly retryAfterMs: number | null;

  constructor(message: string, { cause, ...call }: FailedCall = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.status = call.status ?? null;
    this.retryAfterMs = call.retryAfterMs ?? null;
  }

  /** Whether the key is wrong, or lacks permission. */
  get isForbidden(): boolean {
    return this.status === 401 || this.status === 403;
  }

  /** Whether Stripe can't process the request, for example because its cursor no longer exists. */
  get isRefused(): boolean {
    return this.status === 400 || this.status === 404;
  }
}

/** Whether Stripe can't process this one request. Others can still succeed. */
export function isRefusedByStripe(error: unknown): error is StripeApiFailed {
  return error instanceof StripeApiFailed && error.isRefused;
}

/** The answer of a call; `null` if Stripe can't process this one request. */
export async function unlessRefused<Answer>(call: Promise<Answer>): Promise<Answer | null> {
  try {
    return await call;
  } catch (error) {
    if (isRefusedByStripe(error)) return null;
    throw error;
  }
}

const PROXY = 'a proxy between Instep and Stripe may have answered';

/** The failure for an unexpected response; `body` is `null` if it is not a JSON object. */
export function failedAnswer(
  { status, headers }: Response,
  body: JsonObject | null,
): StripeApiFailed {
  const description = describeAnswer(status, headers.get('content-type'), body);
  return new StripeApiFailed(description, { status, retryAfterMs: retryAfterOf(headers) });
}

function describeAnswer(
  status: number,
  contentType: string | null,
  body: JsonObject | null,
): string {
  if (status >= 300 && status < 400) return `answered ${status}, a redirect: ${PROXY}`;
  if (body !== null) {
    const code = asObject(body.error)?.code;
    const isCode = typeof code === 'string' && /^\w{1,64}$/.test(code);
    return `answered ${status}${isCode ? ` (${code})` : ''}`;
  }
  const type = /^[\w.+-]+\/[\w.+-]+/.exec(contentType ?? '')?.[0] ?? 'no content type';
  return type === 'application/json'
    ? `answered ${status} with incomplete or malformed JSON`
    : `answered ${status} with ${type} instead of JSON: ${PROXY}`;
}

function retryAfterOf(headers: Headers): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : null;
}

/** The code of the failure says which of these it is. */
const TO_CHECK =
  'check STRIPE_API_BASE, the DNS, the firewall and the clock; if a proxy of yours presents its own certificate, ' +
  'set NODE_EXTRA_CA_CERTS to the file of its CA certificate';

export function failedConnection(cause: unknown, host: string): StripeApiFailed {
  const reason = reasonOf(cause) ?? 'unknown reason';
  return new StripeApiFailed(`${host} can't be reached (${reason}): ${TO_CHECK}`, { cause });
}

/** `fetch` throws a TypeError whose cause usually has a code. */
function reasonOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  return codeOf(error) ?? (error.cause === undefined ? error.message : reasonOf(error.cause));
}
