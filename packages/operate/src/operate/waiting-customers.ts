// Whose a customer without a team is, as far as it is known: the console's three ways to link it offer the same.

import { type LoggedEvent, parseLogged } from 'instep-engine/log';
import { type ApplicationTables, idFrom } from 'instep-engine/postgres';
import { mismatchOf, originOfBody, TEAM_KEY, teamNamedIn } from 'instep-engine/stripe';
import type { OpenIssue } from '../issues/find-issues.ts';
import { JOIN_STATE, type NamedTeam, namedTeam, teamsOfEmail } from '../teams/named-teams.ts';
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
  const waiting = issues.flatMap((issue) => {
    const { customerId, team, remedies, evidence } = issue;
    if (customerId === null || team !== null || !remedies.includes('link')) return [];
    const newest = 'newest' in evidence ? evidence.newest : null;
    return [{ customerId, issue, named: newest && teamNamedBy(newest, context) }];
  });
  const teamId = String(forTeam?.id);
  // A UUID can be named in another case.
  const isNamed = (id: string) => id.toLowerCase() === teamId.toLowerCase();
  const sorted = waiting.toSorted(firstThose(({ named }) => named !== null && isNamed(named)));
  const ids = sorted.slice(0, asksStripe ? MAX_ASKED : 0).map(({ customerId }) => customerId);
  const people = await readPeople(context, ids);
  const known = sorted.map((one) => ({ ...one, person: people.get(one.customerId) }));
  const probable = await readProbableTeams(
    context,
    known.map(({ named, person }) => ({ named, email: person?.email ?? null })),
  );
  const customers = known.map(({ customerId, issue, person }, index) => {
    const candidates = probable.flatMap(({ of, ...one }) => (of === index ? one : []));
    const [first, second] = candidates;
    const isOnly = first?.because === 'metadata' || second === undefined;
    const suggested = isOnly && first?.team.customerId === null ? first.team : null;
    return { customerId, issue, person, candidates, suggested };
  });
  const isOfTeam = ({ team }: ProbableTeam) => String(team.id) === teamId;
  return customers.toSorted(firstThose(({ candidates }) => candidates.some(isOfTeam)));
}

const firstThose =
  <One>(isFirst: (one: One) => boolean) =>
  (a: One, b: One) =>
    Number(isFirst(b)) - Number(isFirst(a));

/**
 * What the metadata of an event's subscription names, if it can be the id of a team; `null` for an event of another
 * account or mode, where others can write metadata.
 */
function teamNamedBy(event: LoggedEvent, context: OperateContext): string | null {
  if (mismatchOf(originOfBody(event.body), context.keyMode) !== null) return null;
  const parsed = parseLogged(event);
  return parsed && teamNamedIn(parsed.object, context.linkByMetadata ?? TEAM_KEY);
}

const READ_PROBABLE_TEAMS = (tables: ApplicationTables) => `
      select index - 1 as of,
             because,
             ${namedTeam(tables)}
        from unnest($1::text[], $2::text[]) with ordinality as asked (named, address, index)
       cross join lateral (
               select 'metadata' as because, ${idFrom(tables.teams.id.type, 'named')} as team_id
                union all
               select 'address', team_id
                 from (${teamsOfEmail(tables, 'address')}) as member
             ) as probable
        join ${tables.teams.rows} as teams on teams.id = probable.team_id ${JOIN_STATE}
       order by because desc, id`;

type Asked = { readonly named: string | null; readonly email: string | null };

/** The teams with these ids, and those of the people with these addresses, each of the one `of` those asked about. */
async function readProbableTeams({ database }: OperateContext, asked: readonly Asked[]) {
  type Row = NamedTeam & Pick<ProbableTeam, 'because'> & { readonly of: number };
  const rows = await database.query<Row>({
    name: 'read_probable_teams',
    text: READ_PROBABLE_TEAMS,
    values: [asked.map(({ named }) => named), asked.map(({ email }) => email)],
  });
  return rows.map(({ of, because, ...team }) => ({ of, because, team }));
}
