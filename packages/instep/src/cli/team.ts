import type { Command } from 'commander';
import { readPlanSelection } from '../config/config.ts';
import type { ApplicationId } from '../core/application-id.ts';
import { fillEmptyTeams } from '../ingest/apply-batch.ts';
import type { Database } from '../postgres/database.ts';
import { addTeam, linkTeam, readTeam } from '../postgres/statements/teams.ts';
import { applicationId, createCommand } from './arguments.ts';
import { printData } from './output.ts';
import { NotFound, withDatabase } from './with-database.ts';

type Json = { json?: boolean };

export function teamCommand(): Command {
  return createCommand('team', 'add, link and show teams and their plans', 'instep team show 1')
    .addCommand(
      createCommand(
        'add',
        'add a team (usually your app does this)',
        'instep team add --name Acme --customer cus_123',
      )
        .requiredOption('--name <name>', 'team name')
        .option('--customer <id>', "id of the team's customer at Stripe")
        .option('--json', 'print JSON')
        .action(add),
    )
    .addCommand(
      createCommand(
        'link',
        'link a team to its customer at Stripe',
        'instep team link 1 --customer cus_123',
      )
        .argument('<id>', 'team id', applicationId)
        .requiredOption('--customer <id>', 'id of the customer at Stripe')
        .option('--json', 'print JSON')
        .action(link),
    )
    .addCommand(
      createCommand('show', 'show a team and its plan', 'instep team show 1 --json')
        .argument('<id>', 'team id', applicationId)
        .option('--json', 'print JSON')
        .action(show),
    );
}

async function add({ name, customer, ...options }: { name: string; customer?: string } & Json) {
  const planSelection = readPlanSelection(process.env);
  await withDatabase(async (database) => {
    const id = await addTeam(database.query, { name, customerId: customer ?? null });
    if (customer !== undefined) await fillEmptyTeams(database, planSelection, [customer]);
    await print(database, id, options);
  });
}

async function link(id: ApplicationId, { customer, ...options }: { customer: string } & Json) {
  const planSelection = readPlanSelection(process.env);
  await withDatabase(async (database) => {
    await linkTeam(database.query, id, customer);
    await fillEmptyTeams(database, planSelection, [customer]);
    await print(database, id, options);
  });
}

async function show(id: ApplicationId, options: Json): Promise<void> {
  await withDatabase((database) => print(database, id, options));
}

async function print({ query }: Database, id: ApplicationId, options: Json): Promise<void> {
  const team = await readTeam(query, id);
  if (team === null) throw new NotFound(`there is no team ${id}`);
  printData({ id, providerCustomerId: team.customerId, ...team.plan }, options);
}
