import { describe, expect, test } from 'vitest';
import type { InstepProcess } from '../support/process/instep-process.ts';
import { OPERATIONS_TOKEN } from '../support/secrets/test-secrets.ts';
import { useService } from '../support/service/contract-service.ts';

const PUBLIC_ONLY = ['/api/user', '/api/stripe/webhook', '/healthz', '/readyz'];
const OPERATORS_ONLY = ['/', '/login', '/logout', '/metrics', '/assets/style.css'];

/** The address of the operators' pages, once they are available. */
async function operationsOf(process: InstepProcess): Promise<string> {
  return String((await process.logged({ msg: 'operations listening' })).url);
}

describe('the operations listener', () => {
  const service = useService({ OPS_PORT: '0' });

  test('has its own address on this machine', async () => {
    const url = await operationsOf(service.process);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(url).not.toBe(service.url);
    expect(await (await fetch(url)).text()).toContain('<h1>Overview</h1>');
  });

  test('shares no route with the public listener', async () => {
    const url = await operationsOf(service.process);
    for (const path of PUBLIC_ONLY) expect((await fetch(url + path)).status).toBe(404);
    for (const path of OPERATORS_ONLY) expect((await fetch(service.url + path)).status).toBe(404);
    expect((await fetch(`${url}/api/stripe/webhook`, { method: 'POST' })).status).toBe(403);
  });

  test('closes with the server', async () => {
    const url = await operationsOf(service.process);
    expect(await service.process.stop()).toBe(0);
    await service.process.logged({ msg: 'stopped' });
    await expect(fetch(url)).rejects.toThrow();
  });
});

describe('an operations listener that other machines reach', () => {
  const service = useService({ OPS_PORT: '0', OPS_HOST: '0.0.0.0', OPS_TOKEN: OPERATIONS_TOKEN });

  test('needs OPS_TOKEN, which appears in no output', async () => {
    const { port } = new URL(await operationsOf(service.process));
    const url = `http://127.0.0.1:${port}`;
    expect((await fetch(url)).status).toBe(401);
    const authorization = `Bearer ${OPERATIONS_TOKEN}`;
    expect((await fetch(url, { headers: { authorization } })).status).toBe(200);
    const wrong = { authorization: `Bearer ${OPERATIONS_TOKEN.replace('Token', 'Other')}` };
    expect((await fetch(url, { headers: wrong })).status).toBe(401);
    await service.process.logged({ msg: 'wrong operations token' });
  });
});
