const ends: (() => unknown)[] = [];

/**
 * Runs this at the end of the current test file, the latest first. Files share a worker and its modules, so a
 * support module's own `afterAll` would run for the first of them only.
 */
export function atEndOfFile(end: () => unknown): void {
  ends.push(end);
}

export async function endFile(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end();
}
