const INSISTENT = ['SIGINT', 'SIGTERM'] as const;

/** Those that ask us to end. */
export const SIGNALS = [...INSISTENT, 'SIGHUP'] as const;

/**
 * Resolves with the first signal that asks us to end. A second one ends the process at once, for
 * whoever cannot wait: nothing that was answered 200 is lost by it.
 */
export function nextSignal(): Promise<string> {
  return new Promise((resolve) => {
    // A terminal that closes sends it as often as it likes, and nobody there is waiting.
    process.on('SIGHUP', resolve);
    let count = 0;
    for (const signal of INSISTENT) {
      process.on(signal, () => {
        count += 1;
        if (count > 1) process.exit(1);
        resolve(signal);
      });
    }
  });
}
