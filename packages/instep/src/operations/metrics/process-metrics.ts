import type { Registry } from 'prom-client';
import type { Snapshot } from './exposition.ts';

let registry: Promise<Registry> | undefined;

/** Memory, CPU, event loop and garbage collection of this process. */
export async function readProcessMetrics(): Promise<Snapshot> {
  registry ??= createRegistry();
  const blocks = (await (await registry).metrics()).trim().split('\n\n');
  return blocks.map((block) => {
    const lines = block.split('\n');
    // Some metrics are NaN until there is something to measure.
    const values = lines.filter((text) => !text.startsWith('#') && !/ nan$/i.test(text));
    return { comments: lines.filter((text) => text.startsWith('#')).join('\n'), lines: values };
  });
}

async function createRegistry(): Promise<Registry> {
  // It takes 40 ms to load, which no start should wait for.
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
