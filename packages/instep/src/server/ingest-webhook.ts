import { Problem } from './problems.ts';
import type { ProcessWebhook } from './webhook.ts';

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
