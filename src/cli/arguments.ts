import { InvalidArgumentError } from 'commander';

/** Parses an id of a user or a team. @throws InvalidArgumentError */
export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 2 ** 31 - 1) {
    throw new InvalidArgumentError('must be a whole number from 1 to 2147483647.');
  }
  return value;
}
