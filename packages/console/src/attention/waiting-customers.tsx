import type { Child } from 'hono/jsx';
import type { Query } from 'instep/operate/inside';
import { Button } from '../components/form.tsx';
import { StripeId } from '../components/stripe-id.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import { issuesUrl } from '../links/issue-links.tsx';
import { type IssueCounts, issueCountText, readIssueCounts } from './issue-counts.ts';
import { Why } from './issue-table.tsx';
import { type OpenIssue, readOpenIssues } from './open-issues.ts';

/** The issues of customers that have no team. */
const KINDS = ['parked', 'customer without a team'] as const;

export type WaitingCustomers = {
  readonly counts: IssueCounts;
  /** The first ones. */
  readonly issues: readonly OpenIssue[];
};

const MAX_SHOWN = 10;

/** Reads which customers wait for a team. */
export async function readWaitingCustomers(query: Query): Promise<WaitingCustomers> {
  const request = { cursor: null, limit: MAX_SHOWN };
  const [counts, ...pages] = await Promise.all([
    readIssueCounts(query),
    ...KINDS.map((kind) => readOpenIssues(query, { ...request, kind })),
  ]);
  const issues = pages.flatMap((page) => page.issues).filter(({ teams }) => teams.length === 0);
  return { counts, issues: issues.slice(0, MAX_SHOWN) };
}

const TEXTS = {
  parked: ['customer with parked events', 'customers with parked events'],
  'customer without a team': ['customer with a subscription', 'customers with a subscription'],
} as const;

/** How many customers wait for a team, with links to the lists of them. */
export function WaitingCounts({ counts }: Pick<WaitingCustomers, 'counts'>) {
  const kinds = KINDS.filter((kind) => counts[kind] > 0);
  if (kinds.length === 0) return <>No customer waits for a team.</>;
  const isOne = kinds.reduce((sum, kind) => sum + counts[kind], 0) === 1;
  return (
    <>
      {kinds.map((kind, index) => (
        <>
          {index > 0 && ' and '}
          <a href={issuesUrl(kind)}>
            {issueCountText(counts, kind)}&nbsp;{TEXTS[kind][counts[kind] === 1 ? 0 : 1]}
          </a>
        </>
      ))}{' '}
      {isOne ? 'waits' : 'wait'} for a team.
    </>
  );
}

/** The first customers that wait for a team. The surrounding form links the chosen one. */
export function WaitingTable({ issues }: Pick<WaitingCustomers, 'issues'>) {
  return (
    <Table
      label="Customers that wait for a team"
      columns={['Customer', 'Since', { name: 'Why', class: 'wide' }, 'Link']}
      rows={issues.map(waitingCells)}
    />
  );
}

function waitingCells(issue: OpenIssue): Child[] {
  const { customerId, sinceMs } = issue;
  return [
    <StripeId text={customerId} />,
    <Time ms={sinceMs} />,
    <Why issue={issue} />,
    <Button name="customer" value={customerId ?? ''}>
      Link and replay
    </Button>,
  ];
}
