/** Does work for all items, so many at once, since a pool of connections makes nobody wait long. */
export async function atOnce<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = [...items.entries()];
  async function lane(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, item] = next;
      results[index] = await work(item);
    }
  }
  await Promise.all(Array.from({ length: limit }, lane));
  return results;
}
