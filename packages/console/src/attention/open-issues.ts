import type { ApplicationId, EventRow, NamedTeam } from 'instep/operate';
import {
  KIND_OF_PROBLEM,
  type LastingAmbiguity,
  type OpenFinding,
  type ParkedCustomer,
  problemsOf,
  type Query,
  readEventsAt,
  readFindings,
  readLastingAmbiguities,
  readNamedTeamsOf,
  readParkedCustomers,
  readUnreadablePositions,
} from 'instep/operate/inside';
import type { IssueKind } from '../links/issue-links.tsx';

/** Something that is wrong with one team, customer or event. */
export type OpenIssue = {
  readonly kind: IssueKind;
  readonly sinceMs: number;
  /** `null` for an unreadable event. */
  readonly customerId: string | null;
  /** The teams that have the customer now. */
  readonly teams: readonly NamedTeam[];
} & (
  | { readonly finding: OpenFinding }
  | { readonly parked: ParkedCustomer; readonly newest: EventRow | null }
  | { readonly ambiguity: LastingAmbiguity }
  | { readonly event: EventRow }
);

/** The subject of an action, such as `team:1`. Each row of the list has one. */
export function subjectOf(issue: OpenIssue): string {
  if ('event' in issue) return `event:${issue.event.position}`;
  if ('ambiguity' in issue) return `subscription:${issue.ambiguity.subscriptionId}`;
  if ('parked' in issue) return `customer:${issue.parked.customerId}`;
  const { teamId, customerId } = issue.finding;
  return teamId === null ? `customer:${customerId}` : `team:${teamId}`;
}

/** The start of a page: after the last row of the previous page. */
export type Cursor = { readonly source: number; readonly after: string };

export type PageOfIssues = {
  readonly issues: readonly OpenIssue[];
  readonly next: Cursor | null;
};

const ALL = { order: 'newest first', limit: Number.MAX_SAFE_INTEGER } as const;

type Row = { readonly key: string; readonly issue: OpenIssue };

type Source = {
  readonly kinds: readonly IssueKind[];
  /** The rows after a key; those of one customer stay together, so there can be more than asked for. */
  readonly read: (query: Query, page: SourcePage) => Promise<Row[]>;
};

type SourcePage = {
  readonly kind: IssueKind | null;
  readonly after: string;
  readonly limit: number;
};

/** Each has an index in which a page begins. */
const SOURCES: readonly Source[] = [
  {
    kinds: [...new Set(Object.values(KIND_OF_PROBLEM))],
    async read(query, { kind, after, limit }) {
      const problems = kind === null ? null : problemsOf(kind);
      const page = { problems, afterCustomerId: after, limit };
      return withTeams(query, await readFindings(query, page), (finding) => ({
        kind: KIND_OF_PROBLEM[finding.problem],
        finding,
      }));
    },
  },
  {
    kinds: ['parked'],
    async read(query, { after, limit }) {
      const customers = await readParkedCustomers(query, { afterCustomerId: after, limit });
      const positions = customers.map(({ newestPosition }) => newestPosition);
      const events = await readEventsAt(query, {}, positions, ALL);
      const newest = new Map(events.map((event) => [event.position, event]));
      return withTeams(query, customers, (parked) => ({
        kind: 'parked',
        parked,
        newest: newest.get(parked.newestPosition) ?? null,
      }));
    },
  },
  {
    kinds: ['unknown order'],
    async read(query, { after, limit }) {
      const found = await readLastingAmbiguities(query, { afterCustomerId: after, limit });
      return withTeams(query, found, (ambiguity) => ({ kind: 'unknown order', ambiguity }));
    },
  },
  {
    kinds: ['unreadable'],
    async read(query, { after, limit }) {
      const before = after === '' ? Number.MAX_SAFE_INTEGER : Number(after);
      const positions = await readUnreadablePositions(query, { before, limit });
      const events = await readEventsAt(query, {}, positions, ALL);
      return events.map((event) => {
        const { position, receivedAtMs: sinceMs } = event;
        const common = { sinceMs, customerId: null, teams: [] };
        return { key: String(position), issue: { kind: 'unreadable', event, ...common } };
      });
    },
  },
];

type OfCustomer = { readonly customerId: string; readonly sinceMs: number };
type Without<Issue> = Issue extends OpenIssue
  ? Omit<Issue, 'sinceMs' | 'customerId' | 'teams'>
  : never;

async function withTeams<Found extends OfCustomer>(
  query: Query,
  found: readonly Found[],
  issueOf: (one: Found) => Without<OpenIssue>,
): Promise<Row[]> {
  const customerIds = found.map(({ customerId }) => customerId);
  const teams = await readNamedTeamsOf(query, customerIds);
  return found.map((one) => {
    const { customerId, sinceMs } = one;
    const own = teams.filter((team) => team.customerId === customerId);
    return {
      key: customerId,
      issue: { ...issueOf(one), customerId, sinceMs, teams: own },
    };
  });
}

type IssuesRequest = {
  /** Only issues of this kind; `null`: all. */
  readonly kind: IssueKind | null;
  /** `null`: the first page. */
  readonly cursor: Cursor | null;
  readonly limit: number;
};

/** Reads a page of the list: the rows of each source, one source after the other. */
export async function readOpenIssues(
  query: Query,
  { kind, cursor, limit }: IssuesRequest,
): Promise<PageOfIssues> {
  const issues: OpenIssue[] = [];
  for (const [index, source] of SOURCES.entries()) {
    if (index < (cursor?.source ?? 0)) continue;
    if (kind !== null && !source.kinds.includes(kind)) continue;
    const after = index === cursor?.source ? cursor.after : '';
    const room = limit - issues.length;
    const rows = await source.read(query, { kind, after, limit: room });
    issues.push(...rows.map(({ issue }) => issue));
    const last = rows.at(-1);
    if (last !== undefined && rows.length >= room) {
      return { issues, next: { source: index, after: last.key } };
    }
  }
  return { issues, next: null };
}

/** The team that an issue is about; `null` when it is about a customer or an event. */
export function teamOf(issue: OpenIssue): NamedTeam | null {
  const teamId: ApplicationId | null = 'finding' in issue ? issue.finding.teamId : null;
  return issue.teams.find(({ id }) => id === teamId) ?? issue.teams[0] ?? null;
}
