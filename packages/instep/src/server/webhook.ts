import type { Ingest } from '../ingest/pipeline.ts';
import { QueueFull } from '../runtime/batcher.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { limitLines } from '../runtime/line-limiter.ts';
import type { Logger } from '../runtime/logging.ts';
import { type Mode, mismatchOf } from '../stripe/key-kind.ts';
import type { RetrieveNotifiedEvent } from '../stripe/notified-event.ts';
import {
  BodyNotJson,
  type EventNotification,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from '../stripe/parse-event.ts';
import { SignatureInvalid, type VerifySignature } from '../stripe/signature.ts';
import {
  type Endpoint,
  type HttpRequest,
  jsonResponse,
  Problem,
  signatureProblem,
} from './http-message.ts';

type WebhookOptions = {
  verifySignature: VerifySignature;
  ingest: Ingest;
  retrieveEvent: RetrieveNotifiedEvent;
  /** The mode of the API key, live or test; `null` when its prefix does not show it. */
  keyMode: Mode | null;
  /** Whether an event arriving now can be stored in time. */
  hasRoom: () => boolean;
  instrumentation: Instrumentation;
  logger: Logger;
  /** A unique text, which makes every event without an id unique. */
  nonce: () => string;
  maxBodyBytes: number;
  requestDeadlineMs: number;
};

type Delivered = ReadableEvent | UnreadableEvent | EventNotification;

export const WEBHOOK_PATH = '/api/stripe/webhook';

const RECEIVED = jsonResponse({ received: true });

/** A webhook as it was received. */
type Webhook = {
  signature: string | null;
  /** In milliseconds since 1970. A signature is valid for 5 minutes from its creation. */
  receivedAtMs: number;
  body: HttpRequest['body'];
};

/** Verifies a webhook, and stores its event if it has one. `identify` names the event, for the log. */
export type ProcessWebhook = (webhook: Webhook, identify: (ids: object) => void) => Promise<void>;

/** `POST /api/stripe/webhook` (docs/contract.md). */
export function webhookHandler(processWebhook: ProcessWebhook, now: () => number): Endpoint {
  return async (request, identify) => {
    const signature = request.header('stripe-signature');
    const body = (limitBytes: number) => request.body(limitBytes);
    await processWebhook({ signature, receivedAtMs: now(), body }, identify);
    return RECEIVED;
  };
}

export function createWebhookProcessor(options: WebhookOptions): ProcessWebhook {
  const { verifySignature, ingest, retrieveEvent, hasRoom, instrumentation, logger } = options;
  const { keyMode, nonce, maxBodyBytes, requestDeadlineMs } = options;

  function refuse(): never {
    const error = new QueueFull('too many events are already waiting');
    instrumentation.eventFailed(error);
    throw error;
  }

  function countIgnored(outcome: 'unhandled' | 'not-an-event'): void {
    instrumentation.eventProcessed({ type: 'other', outcome, source: 'delivery', delayMs: null });
  }

  // Anyone can send any number of unsigned requests.
  const writeRefused = limitLines((members) =>
    logger.error(members, 'webhook signature verification failed'),
  );

  // Otherwise every event from an endpoint in another mode would write a line.
  const writeMismatch = limitLines((members) =>
    logger.warn(members, 'event from another mode or account applied'),
  );

  function reportMismatch({ eventId, type, origin }: Delivered): void {
    const mismatch = origin === undefined ? null : mismatchOf(origin, keyMode);
    if (mismatch === null) return;
    instrumentation.eventMismatched(mismatch);
    writeMismatch({ eventId, type, mismatch, ...origin });
  }

  /** Converts an invalid signature or body into a response. */
  function check<Result>(verify: () => Result): Result {
    try {
      return verify();
    } catch (error) {
      if (!(error instanceof SignatureInvalid) && !(error instanceof BodyNotJson)) throw error;
      writeRefused({ err: error });
      throw signatureProblem(error);
    }
  }

  /** Without its event, a notification gets a 503, so that Stripe sends it again. */
  async function ingestNotified(notification: EventNotification, receivedAtMs: number) {
    const { event, body } = await retrieveEvent(notification, { receivedAtMs, nonce }).catch(
      (error: unknown) => {
        instrumentation.eventFailed(error);
        throw error;
      },
    );
    await ingest([{ body, receivedAtMs, source: 'delivery', ...event }]);
  }

  return async ({ signature, receivedAtMs, body: readBody }, identify) => {
    // Checked before any work is done: a flood must not take time from the events that are stored.
    if (!hasRoom()) refuse();
    // Checked before the body is read, because anyone can send half a body.
    const verify = check(() => verifySignature(signature, receivedAtMs));
    const body = await readBody(maxBodyBytes);
    const event = check(() => parseEvent(verify(body), { receivedAtMs, nonce }));
    identify({
      eventId: event.eventId,
      type: event.kind === 'not-an-event' ? undefined : event.type,
      customerId: event.kind === 'readable' ? event.subscription.customerId : undefined,
    });
    if ('origin' in event) reportMismatch(event);
    switch (event.kind) {
      case 'readable':
      case 'unreadable':
        // The spread comes last: adding members to its copy would take V8 ten times as long.
        await withDeadline(
          ingest([{ body, receivedAtMs, source: 'delivery', ...event }]),
          requestDeadlineMs,
        );
        break;
      case 'notification':
        await withDeadline(ingestNotified(event, receivedAtMs), requestDeadlineMs);
        break;
      case 'unhandled':
        countIgnored(event.kind);
        logger.info({ eventId: event.eventId, type: event.type }, 'event type not handled');
        break;
      case 'not-an-event':
        countIgnored(event.kind);
        logger.error({ eventId: event.eventId, reason: event.reason }, 'body is not an event');
        break;
    }
  };
}

export type IngestWebhookOptions = {
  /** When it was received; now by default. A signature is valid for 5 minutes from its creation. */
  readonly receivedAt?: Date;
};

/**
 * Processes a webhook that another program received, such as the consumer of a queue: its exact body
 * and the value of its header `stripe-signature`. Once it resolves, the event is stored.
 *
 * @throws InstepError: SIGNATURE_INVALID or BODY_NOT_JSON when the webhook can never be processed, and
 * any other code when a later attempt can succeed
 */
export type IngestWebhook = (
  rawBody: Uint8Array | string,
  signature: string | null,
  options?: IngestWebhookOptions,
) => Promise<void>;

export function createIngestWebhook(
  processWebhook: ProcessWebhook,
  now: () => number,
): IngestWebhook {
  return async (rawBody, signature, { receivedAt } = {}) => {
    const bytes = typeof rawBody === 'string' ? Buffer.from(rawBody) : rawBody;
    const receivedAtMs = receivedAt?.getTime() ?? now();
    const identify = () => undefined;
    try {
      await processWebhook({ signature, receivedAtMs, body: async () => bytes }, identify);
    } catch (error) {
      throw error instanceof Problem && error.cause instanceof Error ? error.cause : error;
    }
  };
}
