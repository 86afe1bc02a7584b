import type { Query } from '../../../postgres/database.ts';
import { countFindings } from '../../../queries/findings.ts';
import type { Health } from '../../../queries/health.ts';
import { countOtherIssues } from '../../../queries/open-issues.ts';
import { type IssueKind, KIND_OF_PROBLEM } from './open-issues.ts';

/** How many issues of each kind are open. Counting stops at a few hundred. */
export type IssueCounts = Readonly<Record<IssueKind, number>>;

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
