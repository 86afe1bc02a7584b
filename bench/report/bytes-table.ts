import type { EventBytes } from '../measures/event-bytes.ts';
import { figure, table } from './format.ts';

/** The stored bytes of an event relative to its raw body. */
function bodyRatio(bytes: EventBytes | undefined): number | null {
  return bytes === undefined ? null : bytes.stored / bytes.body;
}

export function bytesTable(all: ReadonlyMap<string, EventBytes>): string {
  const rows = [...all].map(([name, bytes]) => [
    name,
    figure(bytes.body),
    figure(bytes.stored),
    figure(bodyRatio(bytes)),
    figure(bytes.stored / 1_000, ' GB'),
    figure(bytes.written),
  ]);
  return table(
    ['', 'raw body', 'stored', 'stored / body', 'per million events', 'written to the WAL'],
    rows,
  );
}
