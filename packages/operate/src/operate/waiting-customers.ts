// Whose a customer without a team is, as far as it is known: the console's three ways to link it offer the same.

import type { OpenIssue } from '../issues/find-issues.ts';
import { type NamedTeam, readTeamsOfEmails } from '../teams/named-teams.ts';
import type { OperateContext } from './context.ts';
import { type Person, readPeople } from './people.ts';

/** A customer without a team. */
export type WaitingCustomer = {
  readonly customerId: string;
  readonly issue: OpenIssue;
  /** Whom it stands for at Stripe; `undefined`: unknown. */
  readonly person: Person | undefined;
  /** The teams that are probably its own, the likeliest first: the one that its metadata names, then those of its person. */
  readonly candidates: readonly NamedTeam[];
  /** The first candidate, if there is no other as likely, and it has no customer. */
  readonly suggested: NamedTeam | null;
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
  const isFor = (team: NamedTeam | null) => team !== null && team.id === forTeam?.id;
  const waiting = issues
    .flatMap((issue) => {
      const { customerId, team, remedies } = issue;
      if (customerId === null || team !== null || !remedies.includes('link')) return [];
      const named = 'suggestedTeam' in issue.evidence ? issue.evidence.suggestedTeam : null;
      return [{ customerId, issue, named }];
    })
    .toSorted((a, b) => Number(isFor(b.named)) - Number(isFor(a.named)));
  const asked = asksStripe ? waiting.slice(0, MAX_ASKED) : [];
  const ids = asked.map(({ customerId }) => customerId);
  const people = await readPeople(context, ids);
  const emails = [...people.values()].flatMap(({ email }) => email ?? []);
  const teamsOfPeople = await readTeamsOfEmails(context.database.query, emails);
  const customers = waiting.map(({ customerId, issue, named }) => {
    const person = people.get(customerId);
    const ofPerson = teamsOfPeople.get(person?.email?.toLowerCase() ?? '') ?? [];
    const candidates = [...(named === null ? [] : [named]), ...ofPerson];
    const only = named ?? (ofPerson.length === 1 ? ofPerson[0] : null);
    const suggested = only?.customerId === null ? only : null;
    return { customerId, issue, person, candidates, suggested };
  });
  const isLikely = ({ candidates }: WaitingCustomer) => candidates.some(isFor);
  return customers.toSorted((a, b) => Number(isLikely(b)) - Number(isLikely(a)));
}
