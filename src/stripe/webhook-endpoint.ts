import Stripe from 'stripe';
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
  /** Those of the handled types that it is not registered for. */
  readonly missingTypes: readonly HandledType[];
  /** How many other types it is registered for; of all there are, infinitely many. */
  readonly otherTypes: number;
  /** In whose words its events are; `null`: in those of the account's default version. */
  readonly apiVersion: string | null;
};

/** The API version of the SDK: the newest one whose events we know. */
export const NEWEST_KNOWN_VERSION: string = Stripe.API_VERSION;

const ALL_TYPES = '*';

/** Understands a webhook endpoint of Stripe's list; `null` for one of no known shape. */
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

/** Versions are named by their day: `2026-10-28.endive`. */
export function isKnownVersion(apiVersion: string): boolean {
  const [day = ''] = /^\d{4}-\d\d-\d\d/.exec(apiVersion) ?? [];
  return day !== '' && day <= NEWEST_KNOWN_VERSION.slice(0, day.length);
}
