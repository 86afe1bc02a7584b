import type { Health } from 'instep/operate';
import {
  countFindings,
  countOtherIssues,
  countText,
  KIND_OF_PROBLEM,
  MAX_COUNTED_FINDINGS,
  MAX_COUNTED_ISSUES,
  MAX_COUNTED_PARKED,
  type Query,
  readHealth,
} from 'instep/operate/inside';
import type { IssueKind } from '../links/issue-links.tsx';

/** How many issues of each kind are open. */
export type IssueCounts = Readonly<Record<IssueKind, number>>;

/** Where counting stops. */
const MOST: Readonly<Partial<Record<IssueKind, number>>> = {
  parked: MAX_COUNTED_PARKED,
  'unknown order': MAX_COUNTED_ISSUES,
  unreadable: MAX_COUNTED_ISSUES,
};

/** The number of issues of a kind: `2`, or `100+` where counting stopped. */
export function issueCountText(counts: IssueCounts, kind: IssueKind): string {
  return countText(counts[kind], MOST[kind] ?? MAX_COUNTED_FINDINGS);
}

/** Counts the open issues of each kind. */
export async function readIssueCounts(query: Query): Promise<IssueCounts> {
  return await countIssues(query, await readHealth(query));
}

export async function countIssues(
  query: Query,
  { parkedCustomers }: Pick<Health, 'parkedCustomers'>,
): Promise<IssueCounts> {
  const [findings, { ambiguities, unreadable }] = await Promise.all([
    countFindings(query),
    countOtherIssues(query),
  ]);
  const counts = {
    'out of sync': 0,
    'changed by hand': 0,
    'plan refused': 0,
    'unknown customer': 0,
    'customer without a team': 0,
    parked: parkedCustomers,
    'unknown order': ambiguities,
    unreadable,
  };
  for (const [problem, count] of findings) counts[KIND_OF_PROBLEM[problem]] += count;
  return counts;
}
