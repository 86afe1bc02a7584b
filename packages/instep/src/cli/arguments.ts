// Makes commands, and parses their arguments.

import { Command, InvalidArgumentError } from 'commander';
import type { ApplicationId } from 'instep-engine/postgres';

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

export function webUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new InvalidArgumentError('must be a URL such as https://your.app/api/stripe/webhook.');
}

/** Names of plans with the products that they mean: `pro=prod_1,pro=prod_2,free=`. */
export function productsByPlan(text: string): ReadonlyMap<string, readonly string[]> {
  const plans = new Map<string, readonly string[]>();
  for (const pair of text.split(',')) {
    const [, name, productId] = /^(.+)=(prod_\w+)?$/.exec(pair.trim()) ?? [];
    if (name === undefined) throw new InvalidArgumentError('must be like pro=prod_1,team=prod_2.');
    plans.set(name, [...(plans.get(name) ?? []), productId ?? []].flat());
  }
  return plans;
}
