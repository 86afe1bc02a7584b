import { Option } from 'commander';
import type { LoggedOutcome } from '../../core/logged-event.ts';
import { HANDLED_TYPES, SNAPSHOT_TYPE } from '../../stripe/handled-event-type.ts';
import { timeSince } from '../arguments.ts';

const OUTCOMES: readonly LoggedOutcome[] = [
  'applied',
  'stale',
  'unchanged',
  'parked',
  'unreadable',
];

export function outcomeOption(): Option {
  return new Option('--outcome <outcome>', 'only events with this outcome').choices(OUTCOMES);
}

export function typeOption(): Option {
  const types = [...HANDLED_TYPES, SNAPSHOT_TYPE];
  return new Option('--type <type>', 'only events of this type').choices(types);
}

export function sinceOption(): Option {
  const help = 'only events received since: 2h, 30d or 2026-05-31T10:00Z';
  return new Option('--since <time>', help).argParser(timeSince);
}
