/** Items that arrive while a batch is in flight form the next one. */
export function createBatches<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item, done: (result: Result | null) => void) => void {
  type Waiting = { readonly item: Item; readonly done: (result: Result | null) => void };
  let waiting: Waiting[] = [];
  let isUnderWay = false;

  async function drain(): Promise<void> {
    isUnderWay = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      const results = await run(batch.map(({ item }) => item)).catch(() => []);
      for (const [index, { done }] of batch.entries()) done(results[index] ?? null);
    }
    isUnderWay = false;
  }

  return (item, done) => {
    waiting.push({ item, done });
    if (!isUnderWay) void drain();
  };
}
