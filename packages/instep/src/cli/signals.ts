const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Resolves with the first signal that asks the process to end. A second SIGINT or SIGTERM ends it at once,
 * without losing any event that got a 200.
 */
export function nextSignal(): Promise<string> {
  return new Promise((resolve) => {
    // A closing terminal can send SIGHUP several times, so a second one must not end the process at once.
    process.on('SIGHUP', resolve);
    let count = 0;
    for (const signal of STOP_SIGNALS) {
      process.on(signal, () => {
        count += 1;
        if (count > 1) process.exit(1);
        resolve(signal);
      });
    }
  });
}

/** Returns a signal that aborts when the process is first asked to end. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  void nextSignal().then(() => stop.abort());
  return stop.signal;
}
