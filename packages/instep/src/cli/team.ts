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
  type Operator,
  perform,
} from 'instep-operate';
import { readAccess } from '../access/team-access.ts';
import { type Config, readPart } from '../config/config.ts';
import { performForTeam } from '../operate/perform-for-team.ts';
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
import { askReason, customerOf, requireTeam, withContext } from './with-context.ts';

export function teamCommand(): Command {
  return createCommand(
    'team',
    'add, link, list, show and sync teams and their plans',
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
    )
    .addCommand(acting('sync', 'give a team the plan that Stripe has now').action(sync));
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

const teamSubject = (id: ApplicationId) => ({ kind: 'team', id: String(id) }) as const;

async function link(id: ApplicationId, { customer, replace, ...output }: LinkOptions) {
  const of = { subject: teamSubject(id), linkTo: customer, expectedCustomerId: replace ?? null };
  await change(id, { action: 'link', ...of }, output);
}

async function unlink(id: ApplicationId, { customer, ...output }: { customer: string } & Json) {
  const of = { subject: teamSubject(id), expectedCustomerId: customer };
  await change(id, { action: 'unlink', ...of }, output);
}

type SetPlanOptions = { readonly plan?: string; readonly new?: boolean } & Json;

async function setPlan(
  id: ApplicationId,
  { plan, new: isNewName = false, ...output }: SetPlanOptions,
) {
  const of = { subject: teamSubject(id), planName: plan ?? null, isNewName };
  await change(id, { action: 'set-plan', ...of }, output);
}

const DONE = ['linked', 'unlinked', 'plan-set'];

/** Changes a team, and shows it. @throws CommandFailed with what the team or the customer has instead */
async function change(id: ApplicationId, request: ActionRequest, output: Json): Promise<void> {
  await actAndShow(id, output, async (context, operator) => {
    const [performed] = (await perform(context, operator, [request])).results;
    if (performed === undefined || DONE.includes(performed.result.code)) return;
    const code = request.action === 'set-plan' ? 'PLAN_NOT_SET' : 'TEAM_NOT_LINKED';
    throw new CommandFailed(code, refusalText(id, performed.result));
  });
}

/** `team 7 was not changed: has another customer (customerId cus_1)` */
function refusalText(id: ApplicationId, { code, ...details }: ActionResult): string {
  const parts = Object.entries(details).flatMap(([name, value]) =>
    name === 'teamId' ? [] : `${name} ${printable(String(value ?? 'none'))}`,
  );
  const said = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  return `team ${id} was not changed: ${code.replaceAll('-', ' ')}${said}`;
}

type Act = (context: OperateContext, operator: Operator, team: NamedTeam) => Promise<unknown>;

/** Acts for a team, and prints the team as it is then. @throws CommandFailed if there is no such team */
async function actAndShow(
  id: ApplicationId,
  output: Json,
  act: Act,
  stripeApi?: Config['stripeApi'],
): Promise<void> {
  await withContext(async (context, operator) => {
    await act(context, operator, await requireTeam(context, id));
    const explained = await explainTeam(context, id, { limit: 1 });
    const note = explained?.status.kind === 'app' && { note: 'Plan written by your app' };
    printData({ ...teamData(await requireTeam(context, id)), ...note }, output);
  }, stripeApi);
}

async function show(id: ApplicationId, output: Json): Promise<void> {
  await actAndShow(id, output, async () => undefined);
}

async function sync(id: ApplicationId, output: Json): Promise<void> {
  const act: Act = async (context, operator, team) =>
    performForTeam(context, operator, { customerId: customerOf(team) });
  await actAndShow(id, output, act, readPart('stripeApi', process.env));
}

async function access(id: ApplicationId, output: Json): Promise<void> {
  await withContext(async (context) => {
    await requireTeam(context, id);
    printData((await readAccess(context.database.query, id)) ?? {}, output);
  });
}

const TEAMS: RowFormat<NamedTeam> = {
  columns: [
    ['id', 8, ({ id }) => id],
    ['name', 24, ({ name }) => name],
    ['customer', 20, ({ customerId }) => customerId],
    ['status', 10, ({ plan }) => plan.subscriptionStatus ?? null],
    ['plan', 9, ({ plan }) => plan.planName ?? null],
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
