import { Option } from 'commander';
import { LOGGED_OUTCOMES } from '../../core/logged-event.ts';
import { LOGGED_TYPES } from '../../stripe/handled-event-type.ts';
import { timeSince } from '../arguments.ts';

export function outcomeOption(): Option {
  return new Option('--outcome <outcome>', 'only events with this outcome').choices(
    LOGGED_OUTCOMES,
  );
}

export function typeOption(): Option {
  return new Option('--type <type>', 'only events of this type').choices(LOGGED_TYPES);
}

export function sinceOption(): Option {
  const help =
    'only events received since this time: an age such as 2h or 30d, or a time such as 2026-05-31T10:00Z';
  return new Option('--since <time>', help).argParser(timeSince);
}
