import type { Child } from 'hono/jsx';
import {
  countIssues,
  findIssues,
  type IssueCounts,
  type OpenIssue,
  type OperateContext,
} from 'instep/operate';
import { Button } from '../components/form.tsx';
import { StripeId } from '../components/stripe-id.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import { issueCountText, issuesUrl } from '../links/issue-links.tsx';
import { canAct } from '../request-context.ts';
import { Why } from './issue-table.tsx';

/** The issues of customers that have no team. */
const CODES = ['parked-events', 'customer-without-team'] as const;

export type WaitingCustomers = {
  readonly counts: IssueCounts;
  /** The first ones. */
  readonly issues: readonly OpenIssue[];
};

const MAX_SHOWN = 10;

/** Reads which customers wait for a team. */
export async function readWaitingCustomers(context: OperateContext): Promise<WaitingCustomers> {
  const [counts, ...pages] = await Promise.all([
    countIssues(context),
    ...CODES.map((code) => findIssues(context, { code, limit: MAX_SHOWN })),
  ]);
  const issues = pages.flatMap((page) => page.issues).filter(({ team }) => team === null);
  return { counts, issues: issues.slice(0, MAX_SHOWN) };
}

const TEXTS = {
  'parked-events': ['customer with events', 'customers with events'],
  'customer-without-team': ['customer with a subscription', 'customers with a subscription'],
} as const;

/** How many customers wait for a team, with links to the lists of them. */
export function WaitingCounts({ counts }: Pick<WaitingCustomers, 'counts'>) {
  const codes = CODES.filter((code) => counts[code].count > 0);
  if (codes.length === 0) return <>No customer waits for a team.</>;
  const isOne = codes.reduce((sum, code) => sum + counts[code].count, 0) === 1;
  return (
    <>
      {codes.map((code, index) => (
        <>
          {index > 0 && ' and '}
          <a href={issuesUrl(code)}>
            {issueCountText(counts[code])}&nbsp;{TEXTS[code][counts[code].count === 1 ? 0 : 1]}
          </a>
        </>
      ))}{' '}
      {isOne ? 'waits' : 'wait'} for a team.
    </>
  );
}

/** The first customers that wait for a team. The surrounding form links the chosen one, and viewers have none. */
export function WaitingTable({ issues }: Pick<WaitingCustomers, 'issues'>) {
  const columns = ['Customer', 'Since', { name: 'Why', class: 'wide' } as const, 'Link'];
  const end = canAct() ? columns.length : -1;
  return (
    <Table
      label="Customers that wait for a team"
      columns={columns.slice(0, end)}
      rows={issues.map((issue) => waitingCells(issue).slice(0, end))}
    />
  );
}

function waitingCells(issue: OpenIssue): Child[] {
  const { customerId, sinceMs } = issue;
  return [
    <StripeId text={customerId} />,
    <Time ms={sinceMs} format="age" />,
    <Why issue={issue} />,
    <Button name="customer" value={customerId ?? ''}>
      Link team
    </Button>,
  ];
}
