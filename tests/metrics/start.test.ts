import { createLogger, openInstep, readConfig } from 'instep';
import { signWebhook } from 'instep/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { SETTINGS } from '../support/process/instep-process.ts';
import { WEBHOOK_SECRET } from '../support/secrets/test-secrets.ts';
import { valuesIn } from '../support/service/metrics-service.ts';
import { eventBody } from '../support/stripe/events.ts';

const promClient = vi.hoisted(() => ({ isLoaded: false }));
vi.mock('prom-client', async (load) => {
  promClient.isLoaded = true;
  return await load<typeof import('prom-client')>();
});

const WEBHOOKS =
  'instep_http_request_duration_seconds_count{route="/api/stripe/webhook",status="200"}';

test('without a reader, prom-client is not loaded; from the start of the metrics on, requests are counted', async () => {
  const url = await createMigratedDatabase();
  const config = readConfig({ ...SETTINGS, DATABASE_URL: url.href });
  const logger = createLogger('silent');
  const instep = await openInstep({ config, logger, maintenance: 'off' });
  onTestFinished(() => instep.close());
  async function postEvent(): Promise<void> {
    const body = eventBody();
    const headers = { 'stripe-signature': signWebhook(body, WEBHOOK_SECRET, Date.now()) };
    const request = new Request('http://localhost/api/stripe/webhook', {
      ...{ method: 'POST', body, headers },
    });
    expect((await instep.fetch(request)).status).toBe(200);
  }

  await postEvent();
  expect(promClient.isLoaded).toBe(false);
  const metrics = await instep.startMetrics();
  expect(promClient.isLoaded).toBe(true);
  await postEvent();
  expect(valuesIn(await metrics.expose()).get(WEBHOOKS)).toBe(1);
  expect(await instep.startMetrics()).toBe(metrics);
});
