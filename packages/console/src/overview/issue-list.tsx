import { html } from 'hono/html';
import {
  ACTIONS,
  counted,
  countText,
  type HealthReport,
  type Issue,
  SUBJECT_ISSUES,
  type Verdict,
} from 'instep-operate';
import { BUTTONS } from '../actions/words.ts';
import { WhenCurrent, WhenOutdated } from '../components/live.tsx';
import { CodeText, capitalized, plainText, Time } from '../components/text.tsx';
import { urlWith } from '../query-parameters.ts';

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
              <span>
                {issue.text}. <AdviceText issue={issue} />
              </span>
              <IssueLinks {...{ issue, health }} id={`issue-${index}`} />
            </li>
          ))}
        </ul>
      )}
      {/* What is probably over soon: parked events often get their team within minutes. */}
      {notices.map((issue) => (
        <p data-issue={issue.code}>
          {issue.text}. No action needed yet.{' '}
          <IssueLinks {...{ issue, health }} id={`notice-${issue.code}`} />
        </p>
      ))}
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
function EvidenceText({ health }: Pick<IssueListProps, 'health'>) {
  const { teams, lastDeliveredMs, hidden, reconciled } = health;
  const completed = reconciled?.completed ?? null;
  return (
    <>
      {teams === null
        ? 'There are too many teams to count those that were compared with Stripe; '
        : `${countText(teams.linked - teams.uncompared)} of ${counted(teams.linked, 'team')} compared with Stripe; `}
      {completed === null
        ? html`<a id="reconciled" href="/compare">no comparison of all teams is complete</a>`
        : html`the last comparison had ${counted(completed.teams, 'team')}
            ${<Time ms={completed.endedAtMs} format="age" />}`}
      ;{' '}
      {lastDeliveredMs === null
        ? 'no delivery yet'
        : html`last delivery ${<Time ms={lastDeliveredMs} format="age" />}`}
      {hidden > 0 && html`; <a id="hidden" href="/actions">${countText(hidden)} hidden</a>`}.
    </>
  );
}

/** What to do about an issue of the service. Actions on its subjects are on the page that an issue links to. */
function AdviceText({ issue: { concerns, advice } }: { readonly issue: Issue }) {
  if (concerns !== 'service') return null;
  return <CodeText>{`${capitalized(advice)}.`}</CodeText>;
}

type IssueLinksProps = {
  readonly issue: Issue;
  readonly health: HealthReport;
  readonly id: string;
};

/** Where to resolve the issue, or to see more of it, if that is in the console. */
function IssueLinks({ issue, health, id }: IssueLinksProps) {
  return (
    <>
      {linksOf(issue, health).map(([path, text], index) => (
        <a
          id={`${id}-${index}`}
          class={issue.severity === 'failure' ? 'button main' : 'button'}
          href={path}
        >
          {text}
        </a>
      ))}
    </>
  );
}

function linksOf(
  { code, remedies }: Issue,
  { namelessProducts }: HealthReport,
): (readonly [path: string, text: string])[] {
  switch (code) {
    case 'teams-not-compared':
    case 'comparison-overdue':
      return [['/compare', 'Compare']];
    case 'nothing-delivered':
    case 'events-in-other-mode':
    case 'events-of-other-accounts':
      return [['/events', 'Last events']];
    case 'products-without-name':
      return namelessProducts.map((plan) => [
        urlWith('/teams', { plan }),
        `Teams of ${plainText(plan)}`,
      ]);
  }
  const subject = SUBJECT_ISSUES.find((one) => one === code);
  if (subject === undefined) return [];
  const remedy = ACTIONS.find((action) => action === remedies[0]);
  const isRemedy = remedy !== undefined && remedy !== 'dismiss';
  return [[urlWith('/attention', { issue: subject }), isRemedy ? `${BUTTONS[remedy]}…` : 'Show']];
}
