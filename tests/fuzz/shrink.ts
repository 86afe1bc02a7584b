const MAX_TRIES = 2_000;

/** Leaves out parts of a failing text as long as it still fails, and returns the shortest one. */
export async function shrink(
  input: string,
  check: (shorter: string) => Promise<void>,
): Promise<string> {
  let shortest = input;
  let tries = 0;
  for (let length = input.length >> 1; length > 0; length >>= 1) {
    for (let from = 0; from < shortest.length && tries < MAX_TRIES; tries += 1) {
      const shorter = shortest.slice(0, from) + shortest.slice(from + length);
      if (await holds(shorter, check)) from += length;
      else shortest = shorter;
    }
  }
  return shortest;
}

async function holds(input: string, check: (input: string) => Promise<void>): Promise<boolean> {
  try {
    await check(input);
    return true;
  } catch {
    return false;
  }
}
