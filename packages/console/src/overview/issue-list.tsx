import type { Child } from 'hono/jsx';
import {
  counted,
  countText,
  type HealthReport,
  type Issue,
  issueText,
  type Remedy,
  type Verdict,
} from 'instep/operate';
import { WhenCurrent, WhenOutdated } from '../components/live.tsx';
import { Time } from '../components/text.tsx';
import { issuesUrl } from '../links/issue-links.tsx';
import { teamsUrl } from '../teams/team-filter.ts';

type IssueListProps = { readonly health: HealthReport; readonly nowMs: number };

/** What is claimed, with its evidence, and then the issues. */
export function IssueList({ health, nowMs }: IssueListProps) {
  const { verdict, issues } = health;
  const pressing = issues.filter(({ severity }) => severity !== 'notice');
  const notices = issues.filter(({ severity }) => severity === 'notice');
  const total = pressing.reduce((sum, { count }) => sum + count, 0);
  const isMore = pressing.some((issue) => issue.isMore);
  return (
    <section class={`health ${CLASSES[verdict]}`} aria-labelledby="verdict" data-verdict={verdict}>
      <p>
        <WhenCurrent>
          <strong id="verdict">
            {pressing.length === 0
              ? VERDICTS[verdict]
              : `${isMore ? countText(total, total) : countText(total)} ${
                  total === 1 ? 'issue needs' : 'issues need'
                } attention.`}
          </strong>{' '}
          <EvidenceText health={health} />
        </WhenCurrent>
        <WhenOutdated>
          At <Time ms={nowMs} format="clock" />, this was: {VERDICTS[verdict]} The current state is
          unknown.
        </WhenOutdated>
      </p>
      {pressing.length > 0 && (
        <ul>
          {pressing.map((issue, index) => (
            <li data-issue={issue.code}>
              {issueText(issue, nowMs)}. {remedyOf(issue)}{' '}
              <IssueLink issue={issue} id={`issue-${index}`} />
            </li>
          ))}
        </ul>
      )}
      <Notices {...{ notices, nowMs }} />
    </section>
  );
}

const CLASSES = { 'in-sync': 'good', unproven: '', warning: 'warning', failure: 'bad' } as const;

const VERDICTS: Readonly<Record<Verdict, string>> = {
  'in-sync': 'In sync.',
  unproven: 'No issue is known.',
  warning: 'Issues need attention.',
  failure: 'Issues need attention.',
};

/** What the claim rests on: how many teams were compared with Stripe, and when Stripe delivered last. */
function EvidenceText({ health: { compared, figures } }: Pick<IssueListProps, 'health'>) {
  const { completed, teams } = compared;
  const { lastDeliveredMs } = figures;
  return (
    <>
      {teams === null ? (
        'Teams are being counted'
      ) : (
        <>
          {countText(teams.linked - teams.uncompared)} of {counted(teams.linked, 'team')} compared
          with Stripe
          {completed !== null && (
            <>
              {' '}
              <Time ms={completed.endedAtMs} format="age" />
            </>
          )}
        </>
      )}
      ;{' '}
      {lastDeliveredMs === null ? (
        'no delivery yet'
      ) : (
        <>
          last delivery <Time ms={lastDeliveredMs} format="age" />
        </>
      )}
      .
    </>
  );
}

/** How to resolve an issue. Actions on its subjects are on the page that it links to. */
const REMEDIES: Readonly<Partial<Record<Remedy, Child>>> = {
  'check-database': 'Check the disk, and that a standby of synchronous_standby_names is connected.',
  'check-endpoint': 'Check the webhook endpoint and its secret.',
  'check-signing-secret':
    "Set STRIPE_WEBHOOK_SECRET to the signing secret of the endpoint in Stripe's dashboard, and restart Instep. Stripe then sends these events again.",
  'check-session-secret':
    'Set AUTH_SECRET to the secret that your app signs its sessions with, and restart Instep.',
  'check-key-permissions': 'Check what STRIPE_SECRET_KEY can read.',
  'check-log': 'The server log has the reason.',
  'run-consumer': 'Run it, or forget it: instep changes --consumer NAME --remove.',
  'replay-changes':
    'See why: instep changes --list. Then pass them on again: instep changes --consumer NAME --replay ID.',
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
    case 'job-failed':
    case 'sessions-refused':
    case 'changes-set-aside':
    case 'consumer-behind':
      return null;
    case 'deliveries-refused':
      return ['#panel-responses', 'Responses'];
    case 'teams-not-compared':
    case 'comparison-overdue':
      return ['/reconcile', 'Compare'];
    case 'nothing-delivered':
    case 'events-in-other-mode':
    case 'events-in-both-modes':
    case 'events-of-other-accounts':
      return ['/events', 'Last events'];
    case 'products-without-name':
      return [teamsUrl({ issue: [code] }), 'Their teams'];
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
