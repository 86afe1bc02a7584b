import { vi } from 'vitest';

/** By default, vi.waitFor gives up after a second, which is not enough on a busy machine. */
const TIMEOUT_MS = 20_000;

const { waitFor } = vi;
vi.waitFor = (callback, options = TIMEOUT_MS) => waitFor(callback, options);
