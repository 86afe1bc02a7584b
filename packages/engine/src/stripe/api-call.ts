// One GET request to Stripe's API, with its deadline, its span and its metric. `api.ts` and the doctor send them.

import { asObject, type JsonObject } from '../rule/json.ts';
import { abortAfter, DeadlineExceeded } from '../runtime/deadline.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import { inSpan } from '../runtime/tracing.ts';
import { failedAnswer, failedConnection, StripeApiFailed } from './api-failure.ts';

/** The newest API version whose objects we know. All requests use it. */
export const NEWEST_KNOWN_VERSION = '2026-10-28.endive';

export type StripeApiOptions = {
  readonly secretKey: string;
  /** An address other than Stripe's own, for tests and demonstrations. */
  readonly baseUrl?: URL | undefined;
  readonly instrumentation?: Instrumentation;
};

export type StripeRequest = {
  /** A pattern such as `/v1/products/{id}`, so that traces and metrics don't name the object. */
  readonly path: string;
  readonly id?: string;
  /** The account whose object is requested; `null` or left out: the one of the key. */
  readonly context?: string | null;
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
};

export type StripeAnswer = AnswerTime & { readonly body: JsonObject };

export type AnswerTime = {
  /** Stripe's time when it answered, in whole seconds since 1970; `null` when it did not state it. */
  readonly answeredSeconds: number | null;
  /** How long the call took. */
  readonly tookMs: number;
};

/** A response of Stripe's API is certain to include everything up to this long before its request. */
const MARGIN_SECONDS = 3;

/** The margin where Stripe did not state its time, so our clock is used. */
const OUR_MARGIN_SECONDS = 60;

/** The last second of Stripe's clock whose events a response of Stripe's API is certain to include. */
export function lastShownSecond({ answeredSeconds, tookMs }: AnswerTime, nowMs: number): number {
  const answered = answeredSeconds ?? Math.floor(nowMs / 1_000) - OUR_MARGIN_SECONDS;
  return answered - Math.ceil(tookMs / 1_000) - MARGIN_SECONDS;
}

/**
 * Sends a GET request once. Its connection is closed at the deadline, or when the signal is aborted.
 *
 * @throws DeadlineExceeded, Stopped or StripeApiFailed
 */
export type Get = (request: StripeRequest) => Promise<StripeAnswer>;

const STRIPE_URL = new URL('https://api.stripe.com');

/** A full page of large objects has a few megabytes. */
const MAX_BODY_BYTES = 64 * 1_024 * 1_024;

export function createGet(options: StripeApiOptions): Get {
  const { secretKey, baseUrl = STRIPE_URL, instrumentation = NO_INSTRUMENTATION } = options;
  const prefix = baseUrl.pathname.replace(/\/$/, '');
  const headers = {
    Authorization: `Bearer ${secretKey}`,
    'Stripe-Version': NEWEST_KNOWN_VERSION,
    'User-Agent': 'instep',
  };

  async function send(request: StripeRequest, signal: AbortSignal) {
    const { path, id = '', query = [], context = null } = request;
    const url = new URL(`${prefix}${path.replace('{id}', encodeURIComponent(id))}`, baseUrl);
    for (const [name, value] of query) url.searchParams.append(name, value);
    try {
      const response = await fetch(url, {
        headers: context === null ? headers : { ...headers, 'Stripe-Context': context },
        signal,
        redirect: 'manual',
      });
      return { response, text: await readText(response) };
    } catch (error) {
      throw error instanceof StripeApiFailed ? error : failedConnection(error, url.host);
    }
  }

  return (request) => {
    const { path, timeoutMs, signal } = request;
    const attributes = { 'http.request.method': 'GET', 'url.template': path };
    return inSpan(`GET ${path}`, { kind: 'CLIENT', attributes }, async (span) => {
      const startedAtMs = performance.now();
      let result = 'other';
      try {
        const { response, text } = await abortAfter(timeoutMs, signal, (ending) =>
          send(request, ending),
        );
        const { status } = response;
        span?.setAttribute('http.response.status_code', status);
        result = status === 200 ? 'done' : String(status);
        return readAnswer(response, text, performance.now() - startedAtMs);
      } catch (error) {
        if (error instanceof DeadlineExceeded) result = 'timeout';
        if (error instanceof StripeApiFailed && error.status === null) result = 'no answer';
        throw error;
      } finally {
        instrumentation.apiCallEnded(path, result, performance.now() - startedAtMs);
      }
    });
  };
}

async function readText({ body, status }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new StripeApiFailed('returned too much data', { status });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function readAnswer(response: Response, text: string, tookMs: number): StripeAnswer {
  const body = parseObject(text);
  if (response.status !== 200 || body === null) throw failedAnswer(response, body);
  const answeredMs = Date.parse(response.headers.get('date') ?? '');
  return {
    body,
    answeredSeconds: Number.isNaN(answeredMs) ? null : Math.floor(answeredMs / 1_000),
    tookMs,
  };
}

function parseObject(text: string): JsonObject | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}
