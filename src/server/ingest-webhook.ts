import { createSignatureVerifier } from '../stripe/signature.ts';
import { Problem } from './problems.ts';
import { WEBHOOK_PATH, type WebhookOptions, webhookHandler } from './webhook.ts';

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
  options: Omit<WebhookOptions, 'verifySignature'> & { readonly webhookSecrets: readonly string[] },
): IngestWebhook {
  return async (rawBody, signature, { receivedAt } = {}) => {
    const now = receivedAt === undefined ? options.now : () => receivedAt.getTime();
    const { webhookSecrets, instrumentation } = options;
    const verifySignature = createSignatureVerifier(webhookSecrets, now, instrumentation);
    const body = typeof rawBody === 'string' ? Buffer.from(rawBody) : rawBody;
    const request = {
      method: 'POST',
      path: WEBHOOK_PATH,
      header: (name: string) => (name === 'stripe-signature' ? signature : null),
      body: async () => body,
    };
    const identify = () => undefined;
    try {
      await webhookHandler({ ...options, now, verifySignature })(request, identify);
    } catch (error) {
      throw error instanceof Problem && error.cause instanceof Error ? error.cause : error;
    }
  };
}
