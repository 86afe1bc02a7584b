import {
  type ApplicationId,
  DatabaseRefused,
  fillEmptyTeams,
  linkTeam,
  type NamedTeam,
  type RecordedLink,
  readFindingOf,
  readNamedTeam,
} from 'instep/operate/inside';
import { quoted } from '../components/text.tsx';
import { findTeams, teamName } from '../teams/find-teams.ts';
import { type ActionResult, type ActionServices, failed } from './action.ts';
import { replayParked } from './replay.ts';

/** Links a customer to the team with this id or name. */
export async function linkCustomer(
  customerId: string,
  text: string,
  services: ActionServices,
): Promise<ActionResult> {
  const team = await findTeam(text, services);
  if (typeof team === 'string') return failed(team);
  const linkedTo = `${quoted(teamName(team))} (team ${team.id})`;
  return await linkAndReplay({ team, customerId, linkedTo, canReplace: false }, services);
}

/** Links a team to the customer with this id, in place of one that Stripe does not know. */
export async function linkTeamTo(
  teamId: string,
  customerId: string,
  services: ActionServices,
): Promise<ActionResult> {
  if (!customerId.startsWith('cus_')) {
    return failed("Enter the customer's id at Stripe. It begins with cus_.");
  }
  const { query } = services.database;
  const team = await readNamedTeam(query, teamId);
  if (team === null) return failed('The team no longer exists.');
  const finding = await readFindingOf(query, team);
  const canReplace = finding?.problem === 'unknown customer';
  return await linkAndReplay({ team, customerId, linkedTo: customerId, canReplace }, services);
}

/** How the actions that link the team to the customer are recorded, on the team or on the customer. */
export function recordedLinks(teamId: ApplicationId, customerId: string): readonly RecordedLink[] {
  return [
    { subject: `team:${teamId}`, resultPart: `Linked to ${customerId}.` },
    { subject: `customer:${customerId}`, resultPart: `(team ${teamId}).` },
  ];
}

type Link = {
  readonly team: NamedTeam;
  readonly customerId: string;
  /** For the result. */
  readonly linkedTo: string;
  /** Whether the team can have another customer. */
  readonly canReplace: boolean;
};

async function linkAndReplay(
  { team, customerId, linkedTo, canReplace }: Link,
  services: ActionServices,
): Promise<ActionResult> {
  const { database, planSelection } = services;
  const name = quoted(teamName(team));
  try {
    if (!(await linkTeam(database.query, team.id, customerId, { canReplace }))) {
      return failed(`${name} has another customer already. Nothing was changed.`);
    }
  } catch (error) {
    if (!(error instanceof DatabaseRefused)) throw error;
    return failed(`The database refused to link ${name}. The customer may have another team.`);
  }
  await fillEmptyTeams(database, planSelection, [customerId]);
  const { isDone, result } = await replayParked(customerId, services);
  return { isDone, result: `Linked to ${linkedTo}. ${result}` };
}

/** The largest number of teams among which the one with exactly this name is looked for. */
const MAX_CANDIDATES = 100;

/**
 * The team with this id, the only one with exactly this name, or the only one whose name contains the text;
 * otherwise what is wrong with the text.
 */
async function findTeam(
  text: string,
  { database: { query }, clockMs }: ActionServices,
): Promise<NamedTeam | string> {
  if (text === '') return 'Enter the id or the name of the team to link.';
  const byId = await readNamedTeam(query, text);
  if (byId !== null) return byId;
  const order = { sort: 'id', isDescending: false } as const;
  const request = { filter: { text }, order, start: null, limit: MAX_CANDIDATES, clockMs };
  const { teams, after, searchedTo } = await findTeams(query, request);
  if (teams.length === 0 && searchedTo === null) return `There is no team ${quoted(text)}.`;
  const exact = teams.filter(({ name }) => name === text);
  const [only, other] = exact.length > 0 ? exact : teams;
  const isOnly = only !== undefined && other === undefined && after === null;
  return isOnly ? only : `Several teams match ${quoted(text)}. Enter the team's id.`;
}
