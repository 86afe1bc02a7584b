import type Stripe from 'stripe';
import { DeadlineExceeded, withDeadline } from '../runtime/deadline.ts';
import { InstepError } from '../runtime/errors.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { inSpan, SpanKind } from '../runtime/tracing.ts';
import { loadSdk } from './sdk.ts';

type FailedCall = Partial<Pick<StripeApiFailed, 'status' | 'retryAfterMs' | 'isMissing'>>;

/** Stripe's API did not answer, or not with what was asked for. */
export class StripeApiFailed extends InstepError {
  readonly code = 'STRIPE_API_FAILED';
  /** The status that was answered; `null` when nothing was. */
  readonly status: number | null;
  /** For how long Stripe wants not to be asked again; `null` when it did not say. */
  readonly retryAfterMs: number | null;
  /** Whether something that was named is not there. */
  readonly isMissing: boolean;

  constructor(
    message: string,
    { status = null, retryAfterMs = null, isMissing = false }: FailedCall = {},
  ) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isMissing = isMissing;
  }

  /** Whether the key is wrong, or may not do this. */
  get isForbidden(): boolean {
    return this.status === 401 || this.status === 403;
  }

  /** Whether what was asked for makes no sense to Stripe, such as a cursor that it has forgotten. */
  get isRefused(): boolean {
    return this.status === 400 || this.status === 404;
  }
}

/** Sends a request through the SDK. */
export type Ask<Found> = () => Promise<Stripe.Response<Found>>;

export type CallOptions = {
  readonly timeoutMs: number;
  readonly instrumentation: Instrumentation;
};

const STATUS_CODE = 'http.response.status_code';

/**
 * What was asked for, within `timeoutMs`. A trace shows the path's pattern, `/v1/products/{id}`, and
 * not what was asked for.
 *
 * @throws DeadlineExceeded, or StripeApiFailed
 */
export function answerOf<Found>(
  path: string,
  ask: Ask<Found>,
  { timeoutMs, instrumentation }: CallOptions,
): Promise<Stripe.Response<Found>> {
  const beganMs = performance.now();
  const ended = (result: string) =>
    instrumentation.apiCallEnded(path, result, performance.now() - beganMs);
  const attributes = { 'http.request.method': 'GET', 'url.template': path };
  return inSpan(`GET ${path}`, { kind: SpanKind.CLIENT, attributes }, async (span) => {
    try {
      const answer = await answerInTime(ask, timeoutMs);
      span.setAttribute(STATUS_CODE, answer.lastResponse.statusCode);
      ended('done');
      return answer;
    } catch (error) {
      ended(resultOf(error));
      const status = error instanceof StripeApiFailed ? error.status : null;
      if (status !== null) span.setAttribute(STATUS_CODE, status);
      throw error;
    }
  });
}

function resultOf(error: unknown): string {
  if (error instanceof DeadlineExceeded) return 'timeout';
  if (!(error instanceof StripeApiFailed)) return 'other';
  return error.status === null ? 'no answer' : String(error.status);
}

async function answerInTime<Found>(
  ask: Ask<Found>,
  timeoutMs: number,
): Promise<Stripe.Response<Found>> {
  try {
    // The SDK's own timeout begins anew with every byte that arrives.
    const answer = await withDeadline(ask(), timeoutMs);
    // The SDK sees a failure by Stripe's own words only, and others may answer in its place.
    const { statusCode } = answer.lastResponse;
    if (statusCode !== 200)
      throw new StripeApiFailed(`answered ${statusCode}`, { status: statusCode });
    return answer;
  } catch (error) {
    const { errors } = loadSdk();
    if (!(error instanceof errors.StripeError)) throw error;
    const status = error.statusCode ?? null;
    const message = `${error.type} (${status ?? 'no answer'})`;
    const isMissing = error.code === 'resource_missing';
    throw new StripeApiFailed(message, { status, retryAfterMs: retryAfterOf(error), isMissing });
  }
}

/** The same, or `null` when there is no such thing. */
export async function found<Found>(
  path: string,
  ask: Ask<Found>,
  options: CallOptions,
): Promise<Stripe.Response<Found> | null> {
  try {
    return await answerOf(path, ask, options);
  } catch (error) {
    if (error instanceof StripeApiFailed && error.status === 404) return null;
    throw error;
  }
}

function retryAfterOf({ headers }: Stripe.errors.StripeError): number | null {
  const seconds = Number(headers?.['retry-after']);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : null;
}
