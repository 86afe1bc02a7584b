// The commands about one team or about finding one.

import type { Command } from 'commander';
import { type ApplicationId, addTeam } from 'instep-engine/postgres';
import { PLAN_FIELDS } from 'instep-engine/rule';
import {
  type ActionRequest,
  type ActionResult,
  explainTeam,
  findTeams,
  type NamedTeam,
  type OperateContext,
  perform,
} from 'instep-operate';
import { readAccess } from '../access/team-access.ts';
import { applicationId, createCommand, positiveInteger } from './arguments.ts';
import {
  CommandFailed,
  type Json,
  printable,
  printData,
  printMessage,
  type RowFormat,
  writeRows,
} from './output.ts';
import { askReason, requireTeam, withContext } from './with-context.ts';

export function teamCommand(): Command {
  return createCommand(
    'team',
    'add, link, list and show teams and their plans',
    'instep team show 1',
  )
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
      acting(
        'link',
        'link a team to its customer at Stripe',
        'instep team link 1 --customer cus_123 --reason "paid with another address"',
      )
        .requiredOption('--customer <id>', 'id of the customer at Stripe')
        .option('--replace <id>', 'id of the customer that the team has; none by default')
        .action(link),
    )
    .addCommand(
      acting(
        'unlink',
        "take a team's customer away, and with it the plan",
        'instep team unlink 1 --customer cus_123',
      )
        .requiredOption('--customer <id>', 'id of the customer that the team has')
        .action(unlink),
    )
    .addCommand(
      acting(
        'set-plan',
        'give a team a plan without a subscription, or take it away',
        'instep team set-plan 1 --plan Partner --reason "our reseller"',
      )
        .option(
          '--plan <name>',
          'name of the plan; without it, the one that was given is taken away',
        )
        .option('--new', 'the name may be one that no team has had')
        .action(setPlan),
    )
    .addCommand(
      createCommand('list', 'list teams', 'instep team list --search acme')
        .option(
          '--search <text>',
          'only teams with this text in their name, this id, customer, subscription or person (email)',
        )
        .option('--limit <count>', 'maximum number of teams', positiveInteger, 20)
        .option('--json', 'print a JSON line for each team')
        .action(list),
    )
    .addCommand(ofTeam('show', 'show a team and its plan').action(show))
    .addCommand(
      ofTeam('access', 'show whether a team has access, why, and until when').action(access),
    );
}

/** A command that takes the id of a team. */
function ofTeam(name: string, description: string, example = `instep team ${name} 1`): Command {
  return createCommand(name, description, example)
    .argument('<id>', 'team id', applicationId)
    .option('--json', 'print JSON');
}

const acting = (...named: Parameters<typeof ofTeam>) => askReason(ofTeam(...named));

async function add({ name, customer, ...output }: { name: string; customer?: string } & Json) {
  const addNamed: Parameters<typeof withContext>[0] = async (context, operator) => {
    const { query } = context.database;
    const id = await addTeam(query, { name, customerId: customer ?? null });
    const by = { name: operator.name, actionId: null };
    if (customer !== undefined) await context.settle(customer, { operator: by });
    printData(teamData(await requireTeam(context, id)), output);
  };
  await withContext(addNamed, null, { createsDatabase: true });
}

type LinkOptions = { readonly customer: string; readonly replace?: string } & Json;

async function link(id: ApplicationId, { customer, replace, ...output }: LinkOptions) {
  const request = { linkTo: customer, expectedCustomerId: replace ?? null };
  await change({ action: 'link', subject: teamSubject(id), ...request }, output);
}

async function unlink(id: ApplicationId, { customer, ...output }: { customer: string } & Json) {
  const request = { expectedCustomerId: customer };
  await change({ action: 'unlink', subject: teamSubject(id), ...request }, output);
}

type SetPlanOptions = { readonly plan?: string; readonly new?: boolean } & Json;

async function setPlan(id: ApplicationId, { plan, new: isNew, ...output }: SetPlanOptions) {
  const request = { planName: plan ?? null, isNewName: isNew === true };
  await change({ action: 'set-plan', subject: teamSubject(id), ...request }, output);
}

const teamSubject = (id: ApplicationId) => ({ kind: 'team', id: String(id) }) as const;

const DONE = ['linked', 'unlinked', 'plan-set'];

/** Changes a team, and shows it. @throws CommandFailed with what the team or the customer has instead */
async function change(request: ActionRequest, output: Json): Promise<void> {
  const { action, subject } = request;
  await withContext(async (context, operator) => {
    await requireTeam(context, subject.id);
    const [performed] = (await perform(context, operator, [request])).results;
    if (performed !== undefined && !DONE.includes(performed.result.code)) {
      const code = action === 'set-plan' ? 'PLAN_NOT_SET' : 'TEAM_NOT_LINKED';
      throw new CommandFailed(code, refusalText(subject.id, performed.result));
    }
    await printTeam(context, subject.id, output);
  });
}

/** `team 7 was not changed: has another customer (customerId cus_1)` */
function refusalText(id: string, { code, ...details }: ActionResult): string {
  const parts = Object.entries(details).flatMap(([name, value]) =>
    name === 'teamId' ? [] : `${name} ${printable(String(value ?? 'none'))}`,
  );
  const said = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  return `team ${id} was not changed: ${code.replaceAll('-', ' ')}${said}`;
}

async function show(id: ApplicationId, output: Json): Promise<void> {
  await withContext((context) => printTeam(context, id, output));
}

/** @throws CommandFailed if there is no such team */
async function printTeam(context: OperateContext, id: ApplicationId, output: Json): Promise<void> {
  const team = await requireTeam(context, id);
  const explained = await explainTeam(context, id, { limit: 1 });
  const note = explained?.status.kind === 'app' && { note: 'Plan written by your app' };
  printData({ ...teamData(team), ...note }, output);
}

async function access(id: ApplicationId, output: Json): Promise<void> {
  await withContext(async (context) => {
    await requireTeam(context, id);
    printData((await readAccess(context.database.query, id)) ?? {}, output);
  });
}

const TEAMS: RowFormat<NamedTeam> = {
  columns: [
    ['id', 8],
    ['name', 24],
    ['providerCustomerId', 20],
    ['subscriptionStatus', 18],
    ['planName', 0],
  ],
  data: teamData,
};

/** With the plan in the order of the contract. */
function teamData({ id, name, customerId, plan }: NamedTeam) {
  const values = PLAN_FIELDS.flatMap((field) => {
    const value = plan[field.name];
    return value === undefined ? [] : [[field.name, value] as const];
  });
  return { id, name, providerCustomerId: customerId, ...Object.fromEntries(values) };
}

type ListOptions = { search?: string; limit: number } & Json;

async function list({ search: text, ...options }: ListOptions) {
  await withContext(async (context) => {
    const found = findTeams(context, { text }).all();
    if ((await writeRows(TEAMS, found, options)) === 0) printMessage('no teams');
  });
}
