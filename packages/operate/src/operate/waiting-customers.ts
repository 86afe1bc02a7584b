// Whose a customer without a team is, as far as it is known: the console's three ways to link it offer the same.

import { TEAM_KEY } from 'instep-engine/stripe';
import type { OpenIssue } from '../issues/find-issues.ts';
import { type NamedTeam, readTeamsNamedBy, readTeamsOfEmails } from '../teams/named-teams.ts';
import type { OperateContext } from './context.ts';
import { type Person, readPeople } from './people.ts';

/** A customer without a team. */
export type WaitingCustomer = {
  readonly customerId: string;
  readonly issue: OpenIssue;
  /** Whom it stands for at Stripe; `undefined`: unknown. */
  readonly person: Person | undefined;
  /** The teams that are probably its own, the likeliest first. */
  readonly candidates: readonly ProbableTeam[];
  /** The first candidate, if there is no other as likely, and it has no customer. */
  readonly suggested: NamedTeam | null;
};

/** A team that the customer's metadata names, or else one of a person with its address. */
export type ProbableTeam = {
  readonly team: NamedTeam;
  readonly because: 'metadata' | 'address';
};

type WaitingRequest = {
  /** Whether Stripe is asked whom the customers stand for: personal data. */
  readonly asksStripe: boolean;
  /** The customers that are probably those of this team come first. */
  readonly forTeam?: NamedTeam;
};

/** Stripe is asked about the first ones. */
const MAX_ASKED = 20;

/**
 * The customers without a team that have some of these issues.
 *
 * @example
 * ```ts
 * const { rows } = await findIssues(context, { code: 'parked-events' }).page();
 * for (const waiting of await readWaitingCustomers(context, rows, { asksStripe: true })) {
 *   console.log(waiting.customerId, waiting.person?.email, waiting.suggested?.name);
 * }
 * ```
 */
export async function readWaitingCustomers(
  context: OperateContext,
  issues: readonly OpenIssue[],
  { asksStripe, forTeam }: WaitingRequest,
): Promise<WaitingCustomer[]> {
  const { database, linkByMetadata, keyMode } = context;
  const waiting = issues.flatMap((issue) => {
    const { customerId, team, remedies, evidence } = issue;
    if (customerId === null || team !== null || !remedies.includes('link')) return [];
    return [{ customerId, issue, newest: 'newest' in evidence ? evidence.newest : null }];
  });
  const events = waiting.flatMap(({ newest }) => newest ?? []);
  const naming = { teamKey: linkByMetadata ?? TEAM_KEY, keyMode };
  const named = await readTeamsNamedBy(database.query, events, naming);
  const teamNamedFor = ({ newest }: (typeof waiting)[number]) => named.get(newest?.position ?? 0);
  const isOfTeam = (team: NamedTeam | undefined) => team !== undefined && team.id === forTeam?.id;
  waiting.sort((a, b) => Number(isOfTeam(teamNamedFor(b))) - Number(isOfTeam(teamNamedFor(a))));

  const asked = asksStripe ? waiting.slice(0, MAX_ASKED) : [];
  const ids = asked.map(({ customerId }) => customerId);
  const people = await readPeople(context, ids);
  const emails = [...people.values()].flatMap(({ email }) => email ?? []);
  const teamsOfPeople = await readTeamsOfEmails(database.query, emails);
  const customers = waiting.map((one) => {
    const { customerId, issue } = one;
    const person = people.get(customerId);
    const namedTeam = teamNamedFor(one);
    const ofPerson = teamsOfPeople.get(person?.email?.toLowerCase() ?? '') ?? [];
    const candidates = [
      ...(namedTeam === undefined ? [] : [{ team: namedTeam, because: 'metadata' as const }]),
      ...ofPerson.map((team) => ({ team, because: 'address' as const })),
    ];
    const [first, second] = candidates;
    const isOnly = first?.because === 'metadata' || second === undefined;
    const suggested = first?.team.customerId === null && isOnly ? first.team : null;
    return { customerId, issue, person, candidates, suggested };
  });
  const isLikely = ({ candidates }: WaitingCustomer) =>
    candidates.some(({ team }) => isOfTeam(team));
  return customers.toSorted((a, b) => Number(isLikely(b)) - Number(isLikely(a)));
}
