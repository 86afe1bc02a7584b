import type { Random } from '../../../simulation/random.ts';
import { eventBody } from '../../support/stripe/events.ts';

const ODD_NUMBERS = [0, -0, -1, 1.5, 2 ** 31, 2 ** 53 + 2, 1e308, -1e-308];
const ODD_TEXTS = [
  ...['', ' ', '\0', 'a\0b', '\ud800', '\udfff', '\u2028', '\u0085', '\u001b[31m', '💥', 'null'],
  ...["'; drop table teams; --", '__proto__', 'constructor', 'sub_\r\nX: y', '../../etc/passwd'],
];
/** JSON that `JSON.stringify` would not write. */
const ODD_LITERALS = [
  ...['1e999', '123456789012345678901234567890', '"\\ud83d"', '"\\u0000"', '-', '01', '.5', 'NaN'],
  ...['{"__proto__":{"status":"active"}}', '{"a":1,"a":2}', '[1,]', '"\t"', 'tru', ''],
];
const MARK = '"instep-odd-value"';

/** The body of an event with one or two odd members, which a holder of the secret could send. */
export function makeOddEvent(random: Random, customerId: string): Buffer {
  const event: unknown = JSON.parse(eventBody({ customerId }));
  let text = JSON.stringify(random.chance(0.03) ? oddValue(random) : event);
  for (let left = 1 + random.below(2); left > 0 && typeof event === 'object'; left -= 1) {
    const places = placesIn(event);
    const place = random.pick(places);
    if (random.chance(0.15)) delete place.holder[place.name];
    else place.holder[place.name] = random.chance(0.15) ? JSON.parse(MARK) : oddValue(random);
    text = JSON.stringify(event);
  }
  text = text.replace(MARK, () => random.pick(ODD_LITERALS));
  if (random.chance(0.05)) text = `\ufeff${text}`;
  if (random.chance(0.03)) text = text.slice(0, random.below(text.length));
  const bytes = Buffer.from(text);
  if (random.chance(0.05)) bytes[random.below(bytes.length)] = 128 + random.below(128);
  return bytes;
}

type Place = { readonly holder: Record<string, unknown>; readonly name: string };

/** Every member of every nested object and list. */
function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((name) => [{ holder, name }, ...placesIn(holder[name])]);
}

function oddValue(random: Random): unknown {
  switch (random.below(8)) {
    case 0:
      return random.pick(ODD_NUMBERS);
    case 1:
      return random.pick([null, true, false]);
    case 2:
      return random.pick([[], {}, [[]], [null], { id: null }, { id: {} }, { object: 'list' }]);
    case 3:
      return 'x'.repeat(random.below(20_000));
    case 4:
      return nested(random.below(300));
    case 5:
      return Array.from({ length: random.below(500) }, () => random.pick(ODD_NUMBERS));
    default:
      return random.pick(ODD_TEXTS);
  }
}

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let left = depth; left > 0; left -= 1) value = left % 2 === 0 ? [value] : { data: value };
  return value;
}
