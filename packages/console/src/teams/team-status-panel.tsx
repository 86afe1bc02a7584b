import type { ExplainedTeam, NamedTeam, Person, TeamStatus } from 'instep-operate';
import { SingleForm } from '../actions/action-form.tsx';
import { TONES } from '../attention/issue-table.tsx';
import { Why } from '../attention/issue-text.tsx';
import { Badge, StatusBadge, type Tone } from '../components/badges.tsx';
import { StripeId } from '../components/id.tsx';
import { type Fact, Facts, Panel } from '../components/panels.tsx';
import { otherFields } from '../components/plan-step.tsx';
import { OptionalText, Time, UntrustedText } from '../components/text.tsx';
import { CustomerFact, ISSUE_NAMES, teamUrl } from '../links.tsx';
import { StatusReason } from './status-text.tsx';

type TeamStatusPanelProps = {
  readonly explained: ExplainedTeam;
  /** Whether the team needs another customer first. */
  readonly isLinkable: boolean;
  /** Whom its customer stands for. */
  readonly person: Person | undefined;
};

/** Why a team has its plan or none, readable within ten seconds, and what to do about it. */
export function TeamStatusPanel({ explained, isLinkable, person }: TeamStatusPanelProps) {
  const { team, issues, status, isCompared } = explained;
  const { word, tone } = BADGES[status.kind];
  return (
    <Panel title="Current plan" id="plan">
      {issues.map((issue) => (
        <div class="lead" data-issue={issue.code}>
          <Badge tone={TONES[issue.severity]}>{ISSUE_NAMES[issue.code]}</Badge>,{' '}
          <Time ms={issue.sinceMs} format="age" />. <Why issue={issue} />
        </div>
      ))}
      <p class={issues.length === 0 ? 'lead' : undefined} data-status={status.kind}>
        {issues.length === 0 && <Badge tone={tone}>{word}</Badge>}{' '}
        <StatusReason team={team} status={status} />
      </p>
      {isLinkable ? (
        <p>
          <a href="#link">
            {team.customerId === null ? 'Link its customer' : 'Link another customer'}
          </a>
        </p>
      ) : (
        !isCompared && <p>Not compared with Stripe yet.</p>
      )}
      {team.customerId !== null && <Remedies explained={explained} isLinkable={isLinkable} />}
      <Facts facts={factsOf(team, person)} />
    </Panel>
  );
}

const BADGES = {
  'has plan': { word: 'has a plan', tone: 'good' },
  'lost plan': { word: 'no plan', tone: 'bad' },
  unlinked: { word: 'no plan', tone: 'warning' },
  app: { word: 'has a plan', tone: 'good' },
  'no events': { word: 'no events', tone: 'warning' },
  'no effect': { word: 'no plan', tone: 'warning' },
  'changed by hand': { word: ISSUE_NAMES['changed-by-hand'], tone: 'bad' },
} as const satisfies Record<TeamStatus['kind'], { readonly word: string; readonly tone: Tone }>;

/** Compares the team with Stripe. A difference is shown before it is repaired, or hidden. */
function Remedies({ explained, isLinkable }: Omit<TeamStatusPanelProps, 'person'>) {
  const { team, issues, status, isCompared } = explained;
  const subject = { kind: 'team', id: String(team.id) } as const;
  const form = { back: teamUrl(team.id), subject } as const;
  const canRepair = issues.some(({ remedies }) => remedies.includes('repair'));
  const isDoubtful = !isCompared || ['no events', 'changed by hand'].includes(status.kind);
  return (
    <div class="row">
      {canRepair && (
        <SingleForm {...form} action="repair" kind="main" text="Repair this team" isConfirmed />
      )}
      <SingleForm
        {...form}
        action="compare"
        kind={isDoubtful && !canRepair && !isLinkable ? 'main' : 'quiet'}
        text="Compare with Stripe"
      />
      {canRepair && <SingleForm {...form} action="dismiss" />}
    </div>
  );
}

function factsOf(
  { customerId, plan, lostPlan, dueSinceMs }: NamedTeam,
  person: Person | undefined,
): readonly Fact[] {
  const { subscriptionStatus: status = null, planName = null } = plan;
  const { providerProductId: productId = null, providerSubscriptionId: id = null } = plan;
  return [
    ['Customer', <CustomerFact {...{ customerId, person }} />],
    ['Status', <StatusBadge status={status} isDue={dueSinceMs !== null} />],
    [
      'Plan',
      lostPlan === null ? (
        <OptionalText
          text={planName}
          fallback={productId === null ? 'none' : 'unknown name'}
          maxLength={120}
        />
      ) : (
        <span class="quiet">
          was <UntrustedText text={lostPlan.planName ?? lostPlan.productId} maxLength={60} />
        </span>
      ),
    ],
    ['Product', <StripeId text={productId} />],
    ['Subscription', <StripeId text={id} />],
    ...otherFields(plan).map(({ label, text }): Fact => [label, <OptionalText text={text} />]),
  ];
}
