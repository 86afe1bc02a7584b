/**
 * Every order in which the events can be delivered, each at least once and with up to `extra` repeated
 * deliveries, as lists of the events' numbers.
 */
export function* deliveryOrders(events: number, extra: number): Generator<readonly number[]> {
  yield* extend([], events, events + extra);
}

function* extend(
  order: readonly number[],
  events: number,
  maxLength: number,
): Generator<readonly number[]> {
  const missing = events - new Set(order).size;
  if (missing === 0) yield order;
  for (let number = 0; number < events; number += 1) {
    const stillMissing = order.includes(number) ? missing : missing - 1;
    if (order.length + 1 + stillMissing > maxLength) continue;
    yield* extend([...order, number], events, maxLength);
  }
}
