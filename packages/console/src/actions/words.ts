import {
  type Action,
  type ActionResult,
  type ComparisonEvidence,
  counted,
  type IssueCause,
  type ReplayOutcomes,
  type Subject,
} from 'instep-operate';
import { outcomeText } from '../components/badges.tsx';
import { quoted } from '../components/text.tsx';

/** What a button does. */
export const BUTTONS: Readonly<Record<Action, string>> = {
  link: 'Link team',
  unlink: 'Unlink',
  replay: 'Replay',
  compare: 'Compare',
  repair: 'Repair',
  dismiss: 'Dismiss',
  restore: 'Restore',
  'set-plan': 'Give plan',
};

/** A sentence for each cause. */
const REASONS: Readonly<Record<IssueCause, string>> = {
  'missed event': 'An event was missed.',
  'changed by hand': 'The team was changed by hand, not by an event.',
  'another plan name': 'The product has another name.',
  'no subscription': 'The team has a plan, but its customer has no subscription.',
  'plan refused':
    'The database refuses the plan of this team, or does not write it in time. The server log has the reason.',
  'unknown customer':
    'Stripe does not know this customer. Link the right one. If Stripe knows none of your customers, check the account and the mode of the API key.',
  'customer without a team':
    'The customer has a subscription at Stripe but is not linked to a team.',
};

/** Why a comparison found an issue. */
export function causeText({
  cause,
  refusedBy,
}: Pick<ComparisonEvidence, 'cause' | 'refusedBy'>): string {
  if (cause !== 'plan refused' || refusedBy === null) return REASONS[cause];
  return `The constraint ${quoted(refusedBy)} of your database refuses the plan of this team.`;
}

const UNCHANGED = 'Nothing was changed.';

/** What an action has changed, or why it has changed nothing, on a page about its subject. */
export function resultText(kind: Subject['kind'] | null, result: ActionResult): string {
  switch (result.code) {
    case 'begun':
      return 'It began, and is still running or was stopped with its process.';
    case 'done':
      return 'Done.';
    case 'linked': {
      const other = kind === 'team' ? result.customerId : `team ${result.teamId}`;
      return `Linked to ${other}.`;
    }
    case 'unlinked':
      return `Unlinked from ${result.customerId}. Its plan was taken away.`;
    case 'no-such-team':
      if (result.text === '')
        return 'Enter the id, the name or an email address of the team to link.';
      return kind === 'team'
        ? 'The team no longer exists.'
        : `There is no team ${quoted(result.text)}.`;
    case 'several-teams':
      return `${quoted(result.text)} is not the id or the full name of one team. Choose a team, or enter its id.`;
    case 'has-another-customer':
      return result.customerId === null
        ? `Team ${result.teamId} has no customer. ${UNCHANGED}`
        : `Team ${result.teamId} has another customer already. ${UNCHANGED}`;
    case 'link-refused':
      return `The database refused to change the customer of team ${result.teamId}. The customer may have another team, or a trigger or policy of your table rejects it.`;
    case 'plan-set': {
      const former = result.former === null ? '' : ` It had ${quoted(result.former)}.`;
      if (result.planName === null) return `The plan was taken away.${former}`;
      return `The team has the plan ${quoted(result.planName)} now, without a subscription.${former}`;
    }
    case 'subscription-decides':
      return `A subscription decides the plan of team ${result.teamId}. Change it at Stripe. ${UNCHANGED}`;
    case 'unknown-plan':
      return `No product is named ${quoted(result.planName)}, and no team has had that plan. Check the spelling, or say that it is new. ${UNCHANGED}`;
    case 'replayed':
      return kind === 'event' ? eventReplayText(result.outcomes) : replayText(result.outcomes);
    case 'in-sync':
      return 'The team is in sync with Stripe.';
    case 'out-of-sync':
      return `The team is out of sync with Stripe. ${causeText(result)}`;
    case 'repaired':
      return 'The team was repaired.';
    case 'unknown-customer':
      return `Stripe does not know customer ${quoted(result.customerId)}. Link the right one: its id begins with cus_.`;
    case 'dismissed':
      return 'Hidden until it changes.';
    case 'restored':
      return 'No longer dismissed.';
    case 'reconciled':
      return `${counted(result.teams, 'team')} compared, ${result.repaired} of ${result.drifts} repaired.`;
    case 'rebuilt':
      return `${counted(result.repaired, 'difference')} repaired, ${result.failed} failed.`;
    case 'redacted':
      return `${counted(result.events, 'event')} without personal data now.`;
    case 'synced':
      return `Team ${result.teamId} has what Stripe has.`;
    case 'does-not-apply':
      return `The action does not apply. ${UNCHANGED}`;
    case 'failed':
      return `${failureText(result.error)} ${UNCHANGED}`;
  }
}

/** A command logs nothing. */
const LOGGED = 'The server log has the reason; that of a command is in its output.';

const STRIPE_FAILED = `Stripe's API refused the request or did not answer. ${LOGGED}`;

/** Why an action failed, by the code of its error; `other`: an unexpected one. */
const FAILURES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    other: LOGGED,
    RECONCILIATION_FAILED: STRIPE_FAILED,
    STRIPE_API_FAILED: STRIPE_FAILED,
    STRIPE_UNAVAILABLE: STRIPE_FAILED,
    STRIPE_KEY_FORBIDDEN: 'STRIPE_SECRET_KEY lacks permission to read subscriptions and customers.',
    TEAM_HAS_ANOTHER_CUSTOMER: 'The team has another customer. Unlink it first.',
    CHECKOUT_NOT_COMPLETE: 'The checkout is not complete, or began no subscription.',
    CHECKOUT_OF_ANOTHER_TEAM: 'The checkout or its customer belongs to another team.',
    CUSTOMER_UNKNOWN: 'Stripe does not know the customer.',
    CUSTOMER_WITHOUT_TEAM: 'No team has the customer. Link it first.',
    SHUTTING_DOWN: 'The server was stopped.',
    RECONCILIATION_RUNNING: 'Another comparison is running.',
    DEADLINE_EXCEEDED: "Stripe's API did not answer in time.",
  }),
);

export const failureText = (code: string): string =>
  FAILURES.get(code) ?? `The action failed (${code}). ${LOGGED}`;

function replayText(outcomes: ReplayOutcomes): string {
  const counts = Object.entries(outcomes);
  if (counts.length === 0) return 'No event waited for a team.';
  const events = counts.reduce((sum, [, count]) => sum + count, 0);
  const list = counts.map(([outcome, count]) => `${count} ${outcomeText(outcome)}`).join(', ');
  return `${counted(events, 'event')} replayed: ${list}.`;
}

/** The result of one replayed event. */
const REPLAYED: Readonly<Record<keyof ReplayOutcomes, string>> = {
  applied: 'The event is now applied.',
  stale: 'The event is now stale: a newer one was already applied, so it has no effect.',
  unchanged: 'The event is now decided and has no effect.',
  parked: 'The event still waits for a team: none is linked to its customer.',
  unreadable: `This version of Instep can't read the event either. ${UNCHANGED}`,
  duplicate: `The event was already decided. ${UNCHANGED}`,
  'left out': `This is a snapshot of Stripe's data at that time. ${UNCHANGED}`,
  failed: `The database refused the event. ${UNCHANGED} The server log has the reason.`,
};

function eventReplayText(outcomes: ReplayOutcomes): string {
  const [only] = Object.keys(REPLAYED).filter(
    (one): one is keyof ReplayOutcomes => one in outcomes,
  );
  return only === undefined ? 'The event is no longer in the log.' : REPLAYED[only];
}
