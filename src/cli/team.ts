import { Command } from 'commander';
import { readPlanSelection } from '../config/config.ts';
import { fillEmptyTeams } from '../ingest/fill-empty-teams.ts';
import type { Query } from '../postgres/database.ts';
import { addTeam, linkTeam, readTeam } from '../queries/teams.ts';
import { positiveInteger } from './arguments.ts';
import { NotFound } from './not-found.ts';
import { type Data, printData } from './output.ts';
import { withDatabase } from './with-database.ts';

type Json = { json?: boolean };

export function teamCommand(): Command {
  const team = new Command('team')
    .description('add, link and show teams and their plans')
    .addHelpText('after', '\nExample:\n  instep team show 1');

  team
    .command('add')
    .description('add a team (usually your app does)')
    .requiredOption('--name <name>', 'the name')
    .option('--customer <id>', "the id of the team's customer at Stripe")
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  instep team add --name Acme --customer cus_123')
    .action(async ({ name, customer, ...options }: { name: string; customer?: string } & Json) => {
      const planSelection = readPlanSelection(process.env);
      const added = await withDatabase(async (database) => {
        const { query } = database;
        const id = await addTeam(query, { name, customerId: customer ?? null });
        if (customer !== undefined) await fillEmptyTeams(database, planSelection, [customer]);
        return describe(query, id);
      });
      printData(added, options);
    });

  team
    .command('link')
    .description('make a team follow a customer at Stripe')
    .argument('<id>', 'the id of the team', positiveInteger)
    .requiredOption('--customer <id>', 'the id of the customer at Stripe')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  instep team link 1 --customer cus_123')
    .action(async (id: number, { customer, ...options }: { customer: string } & Json) => {
      const planSelection = readPlanSelection(process.env);
      const linked = await withDatabase(async (database) => {
        await linkTeam(database.query, id, customer);
        await fillEmptyTeams(database, planSelection, [customer]);
        return describe(database.query, id);
      });
      printData(linked, options);
    });

  team
    .command('show')
    .description('show a team and its plan')
    .argument('<id>', 'the id of the team', positiveInteger)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  instep team show 1 --json')
    .action(async (id: number, options: Json) => {
      printData(await withDatabase(({ query }) => describe(query, id)), options);
    });

  return team;
}

async function describe(query: Query, id: number): Promise<Data> {
  const team = await readTeam(query, id);
  if (team === null) throw new NotFound(`there is no team ${id}`);
  return { id, providerCustomerId: team.customerId, ...team.plan };
}
