/**
 * Every order in which so many events can be delivered, each of them once and up to `extra` of them
 * once more, as lists of the events' numbers.
 */
export function* orders(events: number, extra: number): Generator<readonly number[]> {
  yield* grow([], events, events + extra);
}

function* grow(
  order: readonly number[],
  events: number,
  maxLength: number,
): Generator<readonly number[]> {
  const missing = events - new Set(order).size;
  if (missing === 0) yield order;
  for (let number = 0; number < events; number += 1) {
    const stillMissing = order.includes(number) ? missing : missing - 1;
    if (order.length + 1 + stillMissing > maxLength) continue;
    yield* grow([...order, number], events, maxLength);
  }
}
