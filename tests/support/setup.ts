// Runs before each test file, even where several files share a worker and its modules.
import { afterAll, afterEach, expect, vi } from 'vitest';
import { endFile } from './end-of-file.ts';
import { takeLeaks } from './secrets/leaks.ts';

/** By default, vi.waitFor gives up after a second, which is not enough on a busy machine. */
const TIMEOUT_MS = 20_000;

const { waitFor } = vi;
vi.waitFor = (callback, options = TIMEOUT_MS) => waitFor(callback, options);

// Leaks between two tests fail the next one, or the file.
for (const after of [afterEach, afterAll]) {
  after(() => expect(takeLeaks()).toEqual([]));
}

/** A busy machine takes long to delete the packages of an example. */
const END_TIMEOUT_MS = 240_000;

afterAll(endFile, END_TIMEOUT_MS);
