import type { Ingest } from '../ingest/pipeline.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { type Instrumentation, NO_INSTRUMENTATION } from '../runtime/instrumentation.ts';
import type { Logger } from '../runtime/logging.ts';
import { BodyNotJson, parseEvent } from '../stripe/parse-event.ts';
import { SignatureInvalid, type VerifySignature } from '../stripe/signature.ts';
import type { Admit } from './admission.ts';
import { jsonAnswer } from './answer.ts';
import type { Handler } from './call.ts';
import { limitLines } from './line-limiter.ts';
import { signatureProblem, unavailable } from './problems.ts';

export type WebhookOptions = {
  readonly verifySignature: VerifySignature;
  readonly ingest: Ingest;
  readonly admit: Admit;
  readonly instrumentation?: Instrumentation;
  readonly logger: Logger;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly nonce: () => string;
  readonly maxBodyBytes: number;
  readonly requestDeadlineMs: number;
};

export const WEBHOOK_PATH = '/api/stripe/webhook';

const RECEIVED = jsonAnswer({ received: true });

/** `POST /api/stripe/webhook` (contract, sections 4 and 6). */
export function webhookHandler(options: WebhookOptions): Handler {
  const { verifySignature, ingest, admit, logger, now, nonce } = options;
  const { instrumentation = NO_INSTRUMENTATION } = options;

  function countIgnored(outcome: 'unhandled' | 'shapeless'): void {
    instrumentation.eventProcessed({ type: 'other', outcome, source: 'delivery', delayMs: null });
  }

  // Anybody can send what is not signed, as often as they like.
  const writeRefused = limitLines({
    now,
    write: (members) => logger.error(members, 'webhook signature verification failed'),
  });

  function understand(body: Uint8Array, signature: string | null, receivedAtMs: number) {
    try {
      return parseEvent(verifySignature(body, signature), { receivedAtMs, nonce });
    } catch (error) {
      if (!(error instanceof SignatureInvalid) && !(error instanceof BodyNotJson)) throw error;
      writeRefused({ err: error });
      throw signatureProblem();
    }
  }

  return async (call) => {
    const receivedAtMs = now();
    if (!admit()) throw unavailable();
    const body = await call.body(options.maxBodyBytes);
    const event = understand(body, call.header('stripe-signature'), receivedAtMs);
    switch (event.kind) {
      case 'readable':
      case 'unreadable':
        // What is spread comes last: to add to its copy would take V8 ten times as long.
        await withDeadline(
          ingest([{ body, receivedAtMs, source: 'delivery', ...event }]),
          options.requestDeadlineMs,
        );
        break;
      case 'unhandled':
        countIgnored(event.kind);
        logger.info({ eventId: event.eventId, type: event.type }, 'event type not handled');
        break;
      case 'shapeless':
        countIgnored(event.kind);
        logger.error({ eventId: event.eventId, reason: event.reason }, 'event unreadable');
        break;
    }
    return RECEIVED;
  };
}
