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
  return new Option('--outcome <outcome>', 'only with this outcome').choices(OUTCOMES);
}

export function typeOption(): Option {
  return new Option('--type <type>', 'only of this type').choices([
    ...HANDLED_TYPES,
    SNAPSHOT_TYPE,
  ]);
}

export function sinceOption(): Option {
  return new Option(
    '--since <time>',
    'only received since: 2h, 30d, or 2026-05-31T10:00Z',
  ).argParser(timeSince);
}
