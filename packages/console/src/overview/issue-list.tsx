import type { Child, PropsWithChildren } from 'hono/jsx';
import { type HealthReport, type Issue, issueText, type Remedy } from 'instep/operate';
import { countText } from '../components/amounts.ts';
import { WhenCurrent, WhenOutdated } from '../components/live.tsx';
import { Time } from '../components/text.tsx';
import { issuesUrl } from '../links/issue-links.tsx';
import { teamsUrl } from '../teams/team-filter.ts';

type IssueListProps = Pick<HealthReport, 'issues' | 'reconciled'> & { readonly nowMs: number };

/** One sentence on whether anything needs attention, then the issues. */
export function IssueList({ issues, reconciled, nowMs }: IssueListProps) {
  const pressing = issues.filter(({ severity }) => severity !== 'notice');
  const notices = issues.filter(({ severity }) => severity === 'notice');
  if (pressing.length === 0) {
    const areCompared = reconciled?.phase === 'done';
    return (
      <div class={areCompared ? 'health good' : 'health'}>
        {areCompared ? <InSync nowMs={nowMs} /> : <NotCompared {...{ reconciled, nowMs }} />}
        <Notices {...{ notices, nowMs }} />
      </div>
    );
  }
  const total = pressing.reduce((sum, { count }) => sum + count, 0);
  const isMore = pressing.some((issue) => issue.isMore);
  return (
    <section class="health bad" aria-labelledby="issues">
      <p>
        <strong id="issues">
          {isMore ? countText(total, total) : countText(total)}{' '}
          {total === 1 ? 'issue needs' : 'issues need'} attention.
        </strong>
      </p>
      <ul>
        {pressing.map((issue, index) => (
          <li data-issue={issue.code}>
            {issueText(issue, nowMs)}. {remedyOf(issue)}{' '}
            <IssueLink issue={issue} id={`issue-${index}`} />
          </li>
        ))}
      </ul>
      <Notices {...{ notices, nowMs }} />
    </section>
  );
}

function RunDoctor({ children }: PropsWithChildren) {
  return (
    <>
      Run <code>npx instep doctor</code> to {children}.
    </>
  );
}

/** How to resolve an issue. Actions on its subjects are on the page that it links to. */
const REMEDIES: Readonly<Partial<Record<Remedy, Child>>> = {
  'check-database': (
    <RunDoctor>
      check the disk, and that a standby of synchronous_standby_names is connected
    </RunDoctor>
  ),
  'check-endpoint': <RunDoctor>check the webhook endpoint and its secret</RunDoctor>,
  'check-key-permissions': <RunDoctor>check what STRIPE_SECRET_KEY can read</RunDoctor>,
  'match-key-and-secret': 'Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET of the same mode.',
  'separate-modes': 'Run a separate Instep, with its own database, for each mode.',
  'register-own-account': 'Register an endpoint for the events of your own account only.',
  'match-variables':
    'Set the same TEAM_PLAN, PAST_DUE_GRACE and PAUSED_ACCESS for all instances (docs/access.md).',
  'collect-payment':
    'Cancel these subscriptions at Stripe, or set PAST_DUE_GRACE (docs/access.md).',
  upgrade: 'Upgrade Instep and replay. If that does not help, report the problem.',
};

const remedyOf = ({ remedies }: Issue): Child =>
  remedies.map((remedy) => REMEDIES[remedy]).find((text) => text !== undefined);

type IssueLinkProps = { readonly issue: Issue; readonly id: string };

/** Where to see or resolve the issue, if that is in the console. */
function IssueLink({ issue: { code }, id }: IssueLinkProps) {
  const [path, text] = linkOf(code) ?? [];
  return path === undefined ? null : (
    <a id={id} href={path}>
      {text}
    </a>
  );
}

function linkOf(code: Issue['code']): readonly [path: string, text: string] | null {
  switch (code) {
    case 'writes-not-committed':
    case 'catch-up-too-long':
    case 'different-policies':
      return null;
    case 'nothing-delivered':
    case 'events-in-other-mode':
    case 'events-in-both-modes':
    case 'events-of-other-accounts':
      return ['/events', 'Last events'];
    case 'products-without-name':
      return [teamsUrl({ issue: code }), 'Their teams'];
    default:
      return [issuesUrl(code), 'Resolve'];
  }
}

type NoticesProps = { readonly notices: readonly Issue[]; readonly nowMs: number };

/** What is probably over soon: parked events often get their team within minutes. */
function Notices({ notices, nowMs }: NoticesProps) {
  return (
    <>
      {notices.map((issue) => (
        <p data-issue={issue.code}>
          {issueText(issue, nowMs)}. No action needed yet.{' '}
          <IssueLink issue={issue} id={`notice-${issue.code}`} />
        </p>
      ))}
    </>
  );
}

function InSync({ nowMs }: Pick<IssueListProps, 'nowMs'>) {
  return (
    <p>
      <WhenCurrent>
        <strong>All teams are in sync.</strong> No action needed.
      </WhenCurrent>
      <WhenOutdated>
        All teams were in sync at <Time ms={nowMs} format="clock" />. The current state is unknown.
      </WhenOutdated>
    </p>
  );
}

type NotComparedProps = Omit<IssueListProps, 'issues'>;

/** Only a complete comparison with Stripe shows that no change was missed. */
function NotCompared({ reconciled, nowMs }: NotComparedProps) {
  return (
    <p>
      <WhenCurrent>
        <strong>No issue is known.</strong>{' '}
        {reconciled === null
          ? 'Teams have not been compared with Stripe yet.'
          : 'The last comparison of all teams with Stripe has not finished.'}{' '}
        <a id="compare" href="/reconcile">
          {reconciled === null ? 'Compare' : 'Show'}
        </a>
      </WhenCurrent>
      <WhenOutdated>
        No issue was known at <Time ms={nowMs} format="clock" />. The current state is unknown.
      </WhenOutdated>
    </p>
  );
}
