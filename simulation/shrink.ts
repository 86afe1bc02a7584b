/**
 * Takes away from a list what is not needed for it to fail: delta debugging (Zeller, 2002). What is
 * left fails, and would not if any single item were missing.
 */
export async function shrinkList<Item>(
  items: readonly Item[],
  fails: (candidate: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  let kept = items;
  let size = Math.ceil(kept.length / 2);
  while (size >= 1) {
    const before = kept.length;
    for (let from = 0; from < kept.length; ) {
      const candidate = [...kept.slice(0, from), ...kept.slice(from + size)];
      if (await fails(candidate)) kept = candidate;
      else from += size;
    }
    if (size === 1 && kept.length === before) break;
    size = size === 1 ? 1 : Math.ceil(size / 2);
  }
  return kept;
}
