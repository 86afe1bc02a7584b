/** Maps items with up to `limit` calls at a time, so that no query waits long for a connection. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const entries = items.entries();
  async function worker(): Promise<void> {
    for (const [index, item] of entries) results[index] = await map(item);
  }
  await Promise.all(Array.from({ length: limit }, worker));
  return results;
}
