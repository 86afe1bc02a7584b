// The commands about one team or about finding one.

import type { Command } from 'commander';
import { type ApplicationId, addTeam, linkTeam } from 'instep-engine/postgres';
import {
  type ActionRequest,
  type ActionResult,
  explainTeam,
  findCustomers,
  findTeams,
  type NamedTeam,
  type OperateContext,
  type Operator,
  perform,
} from 'instep-operate';
import { readAccess } from '../access/team-access.ts';
import { readApiConfig } from '../config/config.ts';
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
      askReason(
        ofTeam(
          'link',
          'link a team to its customer at Stripe',
          'instep team link 1 --customer cus_123 --reason "paid with another address"',
        )
          .requiredOption('--customer <id>', 'id of the customer at Stripe')
          .option('--replace <id>', 'id of the customer that the team has; none by default')
          .option('--json', 'print JSON')
          .action(link),
      ),
    )
    .addCommand(
      askReason(
        ofTeam(
          'unlink',
          "take a team's customer away, and with it the plan",
          'instep team unlink 1 --customer cus_123',
        )
          .requiredOption('--customer <id>', 'id of the customer that the team has')
          .option('--json', 'print JSON')
          .action(unlink),
      ),
    )
    .addCommand(
      askReason(
        ofTeam(
          'set-plan',
          'give a team a plan without a subscription, or take it away',
          'instep team set-plan 1 --plan Partner --reason "our reseller"',
        )
          .option(
            '--plan <name>',
            'name of the plan; without it, the one that was given is taken away',
          )
          .option('--new', 'the name may be one that no team has had')
          .option('--json', 'print JSON')
          .action(setPlan),
      ),
    )
    .addCommand(
      createCommand('list', 'list teams', 'instep team list --search acme')
        .option('--search <text>', 'only teams with this text in their name, this id or customer')
        .option('--email <address>', 'only the teams of this person')
        .option('--limit <count>', 'maximum number of teams', positiveInteger, 20)
        .option('--json', 'print a JSON line for each team')
        .action(list),
    )
    .addCommand(plain('show', 'show a team and its plan', show))
    .addCommand(plain('access', 'show whether a team has access, why, and until when', access))
    .addCommand(askReason(plain('sync', 'give a team the plan that Stripe has now', sync)));
}

/** A command that takes the id of a team. */
function ofTeam(name: string, description: string, example = `instep team ${name} 1`): Command {
  return createCommand(name, description, example).argument('<id>', 'team id', applicationId);
}

type OfTeam = (id: ApplicationId, options: Json) => Promise<void>;

function plain(name: string, description: string, action: OfTeam): Command {
  return ofTeam(name, description).option('--json', 'print JSON').action(action);
}

async function add({ name, customer, ...output }: { name: string; customer?: string } & Json) {
  const addNamed: Parameters<typeof withContext>[0] = async (context, operator) => {
    const id = await context.database.transaction(async (query) => {
      const teamId = await addTeam(query, { name, customerId: customer ?? null });
      const by = { name: operator.name, actionId: null };
      const linking = { ...context, operator: by, expectedCustomerId: null };
      // It gets the plan of its customer.
      if (customer !== undefined) await linkTeam(query, teamId, customer, linking);
      return teamId;
    });
    printData(teamData(await requireTeam(context, id)), output);
  };
  await withContext(addNamed, null, { createsDatabase: true });
}

const show = (id: ApplicationId, output: Json) => actAndShow(id, output, async () => undefined);

type Act = (context: OperateContext, operator: Operator, team: NamedTeam) => Promise<unknown>;

/** Acts for a team, and prints the team as it is then. @throws CommandFailed if there is no such team */
async function actAndShow(
  id: ApplicationId,
  output: Json,
  act: Act,
  stripeApi?: ReturnType<typeof readApiConfig>,
): Promise<void> {
  await withContext(async (context, operator) => {
    await act(context, operator, await requireTeam(context, id));
    const explained = await explainTeam(context, id, { limit: 1 });
    const note = explained?.status.kind === 'app' && { note: 'Plan written by your app' };
    printData({ ...teamData(await requireTeam(context, id)), ...note }, output);
  }, stripeApi);
}

/** @throws what ended it */
async function performOne(
  context: OperateContext,
  operator: Operator,
  request: ActionRequest,
): Promise<ActionResult> {
  const [performed] = (await perform(context, operator, [request])).results;
  if (performed === undefined) throw new RangeError('an action has no result');
  if (performed.error !== undefined) throw performed.error;
  return performed.result;
}

type LinkOptions = { readonly customer: string; readonly replace?: string } & Json;

const link = (id: ApplicationId, { customer, replace, ...output }: LinkOptions) =>
  actAndShow(id, output, async (context, operator) => {
    const of = { subject: teamSubject(id), linkTo: customer, expectedCustomerId: replace ?? null };
    await changeCustomer(context, operator, { action: 'link', ...of });
  });

const unlink = (id: ApplicationId, { customer, ...output }: { customer: string } & Json) =>
  actAndShow(id, output, async (context, operator) => {
    const of = { subject: teamSubject(id), expectedCustomerId: customer };
    await changeCustomer(context, operator, { action: 'unlink', ...of });
  });

type SetPlanOptions = { readonly plan?: string; readonly new?: boolean } & Json;

const setPlan = (id: ApplicationId, { plan, ...options }: SetPlanOptions) =>
  actAndShow(id, options, async (context, operator) => {
    const { new: isNewName = false } = options;
    const planName = plan ?? null;
    const request = { action: 'set-plan', subject: teamSubject(id), planName, isNewName } as const;
    const result = await performOne(context, operator, request);
    if (result.code !== 'plan-set')
      throw new CommandFailed('PLAN_NOT_SET', planRefusal(id, result));
  });

function planRefusal(id: ApplicationId, result: ActionResult): string {
  switch (result.code) {
    case 'unknown-plan': {
      const known = result.plans.map(printable).join(', ') || 'none';
      return `no team has had the plan ${printable(result.planName)} (known: ${known}). If it is new, add --new`;
    }
    case 'subscription-decides':
      return `a subscription decides the plan of team ${id}: change it at Stripe`;
    case 'does-not-apply':
      return "the table of teams has no column for a plan's name";
    default:
      return `the plan of team ${id} was not changed: ${result.code}`;
  }
}

const teamSubject = (id: ApplicationId) => ({ kind: 'team', id: String(id) }) as const;

type CustomerChange = Extract<ActionRequest, { readonly action: 'link' | 'unlink' }>;

/** @throws CommandFailed with why the team's customer was not changed */
async function changeCustomer(
  context: OperateContext,
  operator: Operator,
  request: CustomerChange,
) {
  const result = await performOne(context, operator, request);
  if (result.code === 'linked' || result.code === 'unlinked') return;
  throw new CommandFailed('TEAM_NOT_LINKED', await refusalText(context, request, result));
}

async function refusalText(
  context: OperateContext,
  { action, subject: { id } }: CustomerChange,
  result: ActionResult,
) {
  switch (result.code) {
    case 'unknown-customer':
      return `team ${id} was not linked: the id of a customer at Stripe begins with cus_`;
    case 'link-refused': {
      const { teams } = await findCustomers(context, result.customerId);
      const owner = teams.find((team) => String(team.id) !== id);
      if (owner === undefined) {
        return `the database refused to change the customer of team ${id}: a constraint, a policy or a trigger of your table rejects it`;
      }
      const name = owner.name === null ? '' : ` (${printable(owner.name)})`;
      return `the database refused to link team ${id}: team ${owner.id}${name} has the customer. Unlink it first: instep team unlink ${owner.id} --customer ${printable(result.customerId)}`;
    }
    case 'has-another-customer': {
      if (result.customerId === null) return `team ${id} has no customer`;
      const customer = printable(result.customerId);
      const hint = action === 'link' ? `. To replace it, add --replace ${customer}` : '';
      return `team ${id} has the customer ${customer}${hint}`;
    }
    default:
      return `the customer of team ${id} was not changed: ${result.code}`;
  }
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

function teamData({ id, name, customerId, plan }: NamedTeam) {
  return { id, name, providerCustomerId: customerId, ...plan };
}

type ListOptions = { search?: string; email?: string; limit: number } & Json;

async function list({ search: text, email, ...options }: ListOptions) {
  await withContext(async (context) => {
    const found = findTeams(context, { text, email }).all();
    if ((await writeRows(TEAMS, found, options)) === 0) printMessage('no teams');
  });
}

async function access(id: ApplicationId, options: Json): Promise<void> {
  await withContext(async ({ database }) => {
    const found = await readAccess(database.query, id);
    if (found === null)
      throw new CommandFailed('NOT_FOUND', `there is no team ${id} (all: instep team list)`);
    printData(found, options);
  });
}

async function sync(id: ApplicationId, output: Json): Promise<void> {
  const act: Act = async (context, operator, team) =>
    performForTeam(context, operator, { customerId: customerOf(team) });
  await actAndShow(id, output, act, readApiConfig(process.env));
}
