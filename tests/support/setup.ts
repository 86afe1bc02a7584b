// Runs before each test file, even where several files share a worker and its modules.
import { afterAll, afterEach, expect } from 'vitest';
import { endFile } from './end-of-file.ts';
import { takeLeaks } from './secrets/leaks.ts';
import './wait-longer.ts';

// Leaks between two tests fail the next one, or the file.
for (const after of [afterEach, afterAll]) {
  after(() => expect(takeLeaks()).toEqual([]));
}

afterAll(endFile);
