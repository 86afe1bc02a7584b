import { expect, test } from 'vitest';
import { serve } from '../support/network/local-server.ts';
import { createMigratedDatabase } from '../support/postgres/test-database.ts';
import { spawnInstep, startInstep } from '../support/process/instep-process.ts';
import { API_KEY } from '../support/secrets/test-secrets.ts';

/** Sends single bytes in response to every call, and never completes a response. */
async function startDrippingStripe() {
  let open = 0;
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const url = await serve((_, response) => {
    open += 1;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    const dripping = setInterval(() => response.write(' '), 100);
    response.once('close', () => {
      open -= 1;
      clearInterval(dripping);
    });
    arrive();
  });
  return { url, arrived, open: () => open };
}

async function openEnvironment(apiBase: string) {
  const url = await createMigratedDatabase();
  return { DATABASE_URL: url.href, STRIPE_SECRET_KEY: API_KEY, STRIPE_API_BASE: apiBase };
}

test('a server stops cleanly while Stripe never finishes a response', async () => {
  const stripe = await startDrippingStripe();
  const server = await startInstep(await openEnvironment(stripe.url));
  await stripe.arrived;
  expect(await server.stop()).toBe(0);
  expect(stripe.open()).toBe(0);
});

test('Ctrl-C ends a reconciliation while Stripe never finishes a response', async () => {
  const stripe = await startDrippingStripe();
  const reconciling = spawnInstep(['reconcile'], await openEnvironment(stripe.url));
  await stripe.arrived;
  expect(await reconciling.stop('SIGINT')).toBe(1);
  expect(reconciling.stderr).toMatch(/^instep: stopped before it was done/);
});
