import { vi } from 'vitest';

/** By default vi.waitFor gives up after a second, which a busy machine can need for one query. */
const TIMEOUT_MS = 20_000;

const { waitFor } = vi;
vi.waitFor = (callback, options = TIMEOUT_MS) => waitFor(callback, options);
