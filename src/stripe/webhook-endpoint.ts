import * as v from 'valibot';
import type { Json } from '../core/json.ts';
import { HANDLED_TYPES, type HandledType, isHandledType } from './handled-event-type.ts';

const url = v.pipe(
  v.string(),
  v.url(),
  v.transform((text) => new URL(text)),
);

const shape = v.object({
  url,
  status: v.string(),
  enabled_events: v.array(v.string()),
  api_version: v.nullish(v.string()),
});

/** Where Stripe sends events. */
export type WebhookEndpoint = {
  readonly url: URL;
  readonly isEnabled: boolean;
  /** The handled types that it is not registered for. */
  readonly missingTypes: readonly HandledType[];
  /** How many other types it is registered for; infinitely many when it is registered for all. */
  readonly otherTypes: number;
  /** The API version of its events; `null`: the account's default version. */
  readonly apiVersion: string | null;
};

const ALL_TYPES = '*';

/** Reads a webhook endpoint of Stripe's list; `null` when it has no known shape. */
export function readWebhookEndpoint(listed: Json): WebhookEndpoint | null {
  const parsed = v.safeParse(shape, listed);
  if (!parsed.success) return null;
  const { url, status, enabled_events: types, api_version: apiVersion } = parsed.output;
  const hasAll = types.includes(ALL_TYPES);
  return {
    url,
    isEnabled: status === 'enabled',
    missingTypes: hasAll ? [] : HANDLED_TYPES.filter((type) => !types.includes(type)),
    otherTypes: hasAll
      ? Number.POSITIVE_INFINITY
      : types.filter((one) => !isHandledType(one)).length,
    apiVersion: apiVersion ?? null,
  };
}
