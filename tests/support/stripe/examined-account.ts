import { HANDLED_TYPES } from 'instep/operate';
import type { Check } from 'instep/src/doctor/check.ts';
import { examine } from 'instep/src/doctor/examine.ts';
import { ApiCollection, type ApiFault, type ApiObject, startFakeStripeApi } from 'instep/testing';
import { atEndOfFile } from '../end-of-file.ts';
import { connect, createMigratedDatabase } from '../postgres/test-database.ts';
import { SETTINGS } from '../process/instep-process.ts';
import { openPipeline } from '../service/pipelines.ts';
import { received } from './events.ts';

type Examined = { readonly checks: readonly Check[]; readonly hasFailure: boolean };

/** A correct webhook endpoint. */
export const ENDPOINT = {
  id: 'we_1',
  object: 'webhook_endpoint',
  url: 'https://your.app/api/stripe/webhook',
  status: 'enabled',
  enabled_events: [...HANDLED_TYPES],
  api_version: '2025-03-31.basil',
};

/** A webhook endpoint with these members. */
export function endpointWith(otherwise: Partial<Record<string, unknown>>): ApiObject {
  return { ...ENDPOINT, ...otherwise };
}

/** An account at Stripe without problems, and its database, until the end of the test file. */
export async function openExaminedAccount(databaseUrl?: URL) {
  const url = databaseUrl ?? (await createMigratedDatabase());
  const database = connect(url);
  const ingest = openPipeline(database, async () => 'Pro');
  const webhookEndpoints = new ApiCollection([ENDPOINT]);
  const eventDestinations = new ApiCollection();
  const controls: {
    /** Paths of the API with another response. */
    fault: ((path: string) => ApiFault | undefined) | undefined;
    delayMs: number;
  } = { fault: undefined, delayMs: 0 };
  const stripe = await startFakeStripeApi({
    productNames: { prod_1: 'Pro' },
    webhookEndpoints,
    eventDestinations,
    get delayMs() {
      return controls.delayMs;
    },
    onCall: (path) => controls.fault?.(path),
  });
  const environment = {
    ...SETTINGS,
    // The doctor does not listen on this port.
    OPS_PORT: '3001',
    DATABASE_URL: url.href,
    STRIPE_API_BASE: stripe.url,
  };
  atEndOfFile(stripe.close);
  return Object.assign(controls, {
    ...{ database, databaseUrl: url, webhookEndpoints, eventDestinations, environment },
    /** Ingests an event, received now or at the given time. */
    async deliver(body: string, receivedAtMs = Date.now()) {
      await ingest([received(body, receivedAtMs)]);
    },
    /** The doctor's results for an endpoint at this URL, with these additional settings. */
    async examine(more: Readonly<Record<string, string>> = {}, url?: string): Promise<Examined> {
      const checks: Check[] = [];
      for await (const check of examine({
        environment: { ...environment, ...more },
        url: url === undefined ? null : new URL(url),
        notice: () => undefined,
        now: () => performance.timeOrigin + performance.now(),
      })) {
        checks.push(check);
      }
      return { checks, hasFailure: checks.some(({ state }) => state === 'failure') };
    },
  });
}

/**
 * The checks that are not ok, such as `failure schema: the database lacks 0001`, without the one that the tests' server
 * never passes: it does not sync.
 */
export function issuesOf({ checks }: Pick<Examined, 'checks'>): string[] {
  return checks
    .filter(({ name, state }) => state !== 'ok' && name !== 'durability')
    .map(({ name, state, result }) => `${state} ${name}: ${result}`);
}
