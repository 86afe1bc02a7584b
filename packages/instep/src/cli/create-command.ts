import { Command } from 'commander';

/** A command whose help ends with an example. */
export function createCommand(name: string, description: string, example: string): Command {
  return new Command(name)
    .description(description)
    .addHelpText('after', `\nExample:\n  ${example}`);
}
