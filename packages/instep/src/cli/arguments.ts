// Parses the arguments of commands, and declares the options that several commands have.

import { Command, InvalidArgumentError, Option } from 'commander';
import { LOGGED_OUTCOMES } from 'instep-engine/log';
import type { ApplicationId } from 'instep-engine/postgres';
import { parseTimeSince } from 'instep-engine/runtime';
import { LOGGED_TYPES } from 'instep-engine/stripe';

export function createCommand(name: string, description: string, example: string): Command {
  return new Command(name)
    .description(description)
    .addHelpText('after', `\nExample:\n  ${example}`);
}

// Each of the following parses an argument. @throws InvalidArgumentError

/** The id of a team or a user: a number, a UUID, or any other text. */
export function applicationId(text: string): ApplicationId {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  if (/^\P{Cc}{1,255}$/u.test(text)) return text;
  throw new InvalidArgumentError('must be an id: a number, a UUID or other text.');
}

const integerUpTo = (max: number) => (text: string) => {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > max) {
    throw new InvalidArgumentError(`must be a whole number from 1 to ${max}.`);
  }
  return value;
};

export const positiveInteger = integerUpTo(2 ** 31 - 1);

export const changeId = integerUpTo(Number.MAX_SAFE_INTEGER);

function timeSince(text: string): number {
  const atMs = parseTimeSince(text, Date.now());
  if (atMs === null) {
    throw new InvalidArgumentError(
      'must be a duration ago, such as 2h or 30d, or a time, such as 2026-05-31 or 2026-05-31T10:00Z.',
    );
  }
  return atMs;
}

export function webUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new InvalidArgumentError('must be a URL such as https://your.app/api/stripe/webhook.');
}

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
