import type { IngestPipeline } from '../log/pipeline.ts';
import { QueueFull } from '../runtime/batcher.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { Instrumentation } from '../runtime/instrumentation.ts';
import { type Logger, limitLines } from '../runtime/logging.ts';
import type { RetrieveNotifiedEvent } from '../stripe/api.ts';
import { type Mode, mismatchOf } from '../stripe/key-kind.ts';
import {
  BodyNotJson,
  type EventNotification,
  parseEvent,
  type ReadableEvent,
  type UnreadableEvent,
} from '../stripe/parse-event.ts';
import { SignatureInvalid, type SignatureVerifier } from '../stripe/signature.ts';
import {
  type HttpRequest,
  type HttpResponse,
  type Identify,
  jsonResponse,
} from './http-message.ts';

type WebhookOptions = {
  verifier: SignatureVerifier;
  pipeline: Pick<IngestPipeline, 'ingest' | 'hasRoom'>;
  retrieveEvent: RetrieveNotifiedEvent;
  /** The mode of the API key, live or test; `null` when its prefix does not show it. */
  keyMode: Mode | null;
  instrumentation: Instrumentation;
  logger: Logger;
  now: () => number;
  /** Makes every event without an id unique. */
  nonce: () => string;
  maxBodyBytes: number;
  requestDeadlineMs: number;
};

type Delivered = ReadableEvent | UnreadableEvent | EventNotification;

export const WEBHOOK_PATH = '/api/stripe/webhook';

/** The contract specifies this text of the error. */
export const SIGNATURE_FAILED = 'Webhook signature verification failed.';

const RECEIVED = jsonResponse({ received: true });

type Webhook = {
  signature: string | null;
  /** In milliseconds since 1970. A signature is valid for 5 minutes from its creation. */
  receivedAtMs: number;
  readBody: HttpRequest['body'];
};

/** `POST /api/stripe/webhook` (docs/contract.md). */
export class WebhookEndpoint {
  #options: WebhookOptions;
  #writeRefused: (members: object) => void;
  #writeMismatch: (members: object) => void;

  constructor(options: WebhookOptions) {
    this.#options = options;
    const { logger } = options;
    // Anyone can send any number of unsigned requests.
    this.#writeRefused = limitLines((members) =>
      logger.error(members, 'webhook signature verification failed'),
    );
    // Otherwise every event from an endpoint in another mode would write a line.
    this.#writeMismatch = limitLines((members) =>
      logger.warn(members, 'event from another mode or account'),
    );
  }

  async handle(request: HttpRequest, identify: Identify): Promise<HttpResponse> {
    const webhook = {
      signature: request.header('stripe-signature'),
      receivedAtMs: this.#options.now(),
      readBody: (limitBytes: number) => request.body(limitBytes),
    };
    await this.#process(webhook, identify);
    return RECEIVED;
  }

  readonly ingestWebhook: IngestWebhook = async (rawBody, signature, { receivedAt } = {}) => {
    const bytes = typeof rawBody === 'string' ? Buffer.from(rawBody) : rawBody;
    const receivedAtMs = receivedAt?.getTime() ?? this.#options.now();
    const webhook = { signature, receivedAtMs, readBody: async () => bytes };
    await this.#process(webhook, () => undefined);
  };

  async #process({ signature, receivedAtMs, readBody }: Webhook, identify: Identify) {
    const { verifier, pipeline, nonce, logger, maxBodyBytes, requestDeadlineMs } = this.#options;
    // Checked before any work is done: a flood must not take time from the events that are stored.
    if (!pipeline.hasRoom()) this.#refuse();
    // Checked before the body is read, because anyone can send half a body.
    const signatures = this.#check(() => verifier.parse(signature));
    const body = await readBody(maxBodyBytes);
    const event = this.#check(() =>
      parseEvent(verifier.verify(body, signatures, receivedAtMs), { receivedAtMs, nonce }),
    );
    identify({
      eventId: event.eventId,
      type: event.kind === 'not-an-event' ? undefined : event.type,
      customerId: event.kind === 'readable' ? event.subscription.customerId : undefined,
    });
    if ('origin' in event) this.#reportMismatch(event);
    switch (event.kind) {
      case 'readable':
      case 'unreadable':
        // The spread comes last: adding members to its copy would take V8 ten times as long.
        await withDeadline(
          pipeline.ingest([{ body, receivedAtMs, source: 'delivery', ...event }]),
          requestDeadlineMs,
        );
        break;
      case 'notification':
        await withDeadline(this.#ingestNotified(event, receivedAtMs), requestDeadlineMs);
        break;
      case 'unhandled':
        this.#countIgnored(event.kind);
        logger.info({ eventId: event.eventId, type: event.type }, 'event type not handled');
        break;
      case 'not-an-event':
        this.#countIgnored(event.kind);
        logger.error({ eventId: event.eventId, problem: event.problem }, 'body is not an event');
        break;
    }
  }

  #refuse(): never {
    const error = new QueueFull('too many events are already waiting');
    this.#options.instrumentation.eventFailed(error);
    throw error;
  }

  /** Logs an invalid signature or body. */
  #check<Result>(verify: () => Result): Result {
    try {
      return verify();
    } catch (error) {
      if (isInvalidWebhook(error)) this.#writeRefused({ err: error });
      throw error;
    }
  }

  /** Without its event, a notification gets a 503, so that Stripe sends it again. */
  async #ingestNotified(notification: EventNotification, receivedAtMs: number): Promise<void> {
    const { retrieveEvent, pipeline, instrumentation, nonce } = this.#options;
    const { event, body } = await retrieveEvent(notification, { receivedAtMs, nonce }).catch(
      (error: unknown) => {
        instrumentation.eventFailed(error);
        throw error;
      },
    );
    await pipeline.ingest([{ body, receivedAtMs, source: 'delivery', ...event }]);
  }

  #countIgnored(outcome: 'unhandled' | 'not-an-event'): void {
    const { instrumentation } = this.#options;
    instrumentation.eventProcessed({ type: 'other', outcome, source: 'delivery', delayMs: null });
  }

  #reportMismatch({ eventId, type, origin }: Delivered): void {
    const { keyMode } = this.#options;
    const mismatch = origin === undefined ? null : mismatchOf(origin, keyMode);
    if (mismatch === null) return;
    this.#writeMismatch({ eventId, type, mismatch, ...origin });
  }
}

/** Whether a webhook can never be processed, however often it is sent. */
export function isInvalidWebhook(error: unknown): boolean {
  return error instanceof SignatureInvalid || error instanceof BodyNotJson;
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
