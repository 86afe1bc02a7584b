// The issues of single teams, customers and events: each is the SQL that finds it. Nothing of it is stored, except what only
// Stripe can tell (the engine's `instep.findings`). find-issues.ts leaves out what operators have dismissed.

import { type EventRow, parseLogged } from 'instep-engine/log';
import { type ApplicationTables, type IssueCause, planAsJson } from 'instep-engine/postgres';
import {
  type CustomerState,
  chargedSubscriptions,
  END_MARGIN_SECONDS,
  GRANTING_STATUSES,
  type Plan,
  type PlanInRow,
  selectedReport,
} from 'instep-engine/rule';
import { whyUnreadable } from '../event-log/reasons.ts';
import { type IssueKind, REPAIR, SERVER_ASKS } from './issue.ts';

/** An issue of single teams, customers or events. */
export type SubjectIssue = IssueKind & {
  /** What is wrong with the subjects, after their number. */
  readonly text: string;
  /** While the oldest is younger than this, it is only a notice. */
  readonly noticeMs?: number;
  /**
   * The SQL of all that have it, with these columns: `key`, in whose order they are listed; `customer_id`; `team_id` as text,
   * where a team has it; `since`; `changed_at`, when a dismissal from before ends; and what is stored as `evidence`.
   */
  readonly rows: (tables: ApplicationTables) => string;
  /** What is known about it; `null`: its subject was deleted meanwhile. */
  readonly evidence: (stored: never, read: Sources) => object | null;
};

/** What is read for an issue besides its row. */
export type Sources = {
  /** The event at the `position` of its evidence; `null`: it was deleted meanwhile. */
  readonly event: EventRow | null;
  /** What the customer's events say, and the names of products that customers of the page have. */
  readonly state: CustomerState;
  readonly names: ReadonlyMap<string | null, string>;
};

/** The evidence is what is stored. */
const asStored = <Evidence>(stored: Evidence) => stored;

type Subscription = { readonly subscriptionId: string };

/** What a comparison with Stripe, or with the event log, found. */
export type ComparisonEvidence = {
  readonly cause: IssueCause;
  /** What the team has and should have; `null` if the issue is about the customer. */
  readonly is: PlanInRow | null;
  readonly shouldBe: PlanInRow | null;
  /** The constraint that refuses the plan; `null`: unknown, or nothing is refused. */
  readonly refusedBy: string | null;
};

/** A subscription that Stripe charges. What its latest event does not say is `null`. */
export type ChargedSubscription = Plan & {
  readonly status: string;
  /** Since when it has its status. */
  readonly sinceMs: number;
};

/**
 * SQL: what comparisons found for these causes, while the team has the compared plan, or the customer has no team.
 * Comparisons store it and, if the application refuses a plan, the ingest pipeline.
 */
const found = ({ teams }: ApplicationTables, causes: readonly IssueCause[]) => `
      select found.customer_id as key,
             found.customer_id,
             nullif(found.team_id, '') as team_id,
             coalesce(began_at, found_at) as since,
             found_at as changed_at,
             jsonb_build_object('cause', problem, 'is', found.plan, 'shouldBe', should_be, 'refusedBy', refused_by)
               as evidence
        from instep.findings as found
        left join lateral (
               select id, ${planAsJson(teams)} as plan
                 from ${teams.rows} as teams
                where provider_customer_id = found.customer_id
                  and (found.team_id = '' or id::text = found.team_id)
                limit 1
             ) as team on true
       where problem in (${causes.map((cause) => `'${cause}'`).join(', ')})
         and case
               when team_id = '' then team.id is null
               else team.id is not null and team.plan = coalesce(found.plan, team.plan)
             end`;

/** An issue of teams that comparisons find. */
const comparisonIssue = (
  causes: readonly IssueCause[],
  issue: Pick<SubjectIssue, 'severity' | 'remedies' | 'text' | 'advice'>,
) => ({
  ...issue,
  concerns: 'team' as const,
  rows: (tables: ApplicationTables) => found(tables, causes),
  evidence: asStored<ComparisonEvidence>,
});

const REPAIRED = { severity: 'failure', remedies: ['repair', 'compare', 'dismiss'] } as const;

/** SQL: teams of whose customer's `state` a condition is true, since when, and what is known. An index has few such customers. */
const byState =
  (condition: string, since: string, evidence = 'null::jsonb') =>
  ({ teams }: ApplicationTables) =>
    `
      select state.customer_id as key,
             state.customer_id,
             team.id::text as team_id,
             ${since} as since,
             ${since} as changed_at,
             ${evidence} as evidence
        from instep.customers as state
       cross join lateral (
               -- Otherwise the planner would expect one team of all, and read all to find it.
               select id, subscription_status, provider_subscription_id
                 from ${teams.rows} as teams
                where provider_customer_id = state.customer_id
               offset 0
             ) as team
       where ${condition}`;

const GRANTING = GRANTING_STATUSES.map((status) => `'${status}'`).join(', ');

/** After this time, a team that keeps its plan although a payment is due needs attention. */
const PAYMENT_DUE_DAYS = 14;

/** Counting a customer's events stops here. */
export const MAX_COUNTED_OF_CUSTOMER = 100;

/** All of them, the most severe first. */
export const ISSUES_OF_SUBJECTS = {
  'out-of-sync': comparisonIssue(
    // A team whose plan has another name differs from Stripe.
    ['missed event', 'no subscription', 'another plan name'],
    { ...REPAIRED, text: 'out of sync with Stripe', advice: REPAIR },
  ),

  'changed-by-hand': comparisonIssue(['changed by hand'], {
    ...REPAIRED,
    text: 'changed by hand, not by an event',
    advice: REPAIR,
  }),

  'plan-refused': comparisonIssue(['plan refused'], {
    ...REPAIRED,
    text: 'with a plan that the database refuses or does not write in time',
    advice: 'read the reason in the server log, then repair them: `instep reconcile`',
  }),

  /** Events that wait for a team. Dismissed ones are an issue again when another one arrives. */
  'parked-events': {
    severity: 'warning',
    concerns: 'customer',
    remedies: ['link', 'replay', 'dismiss'],
    text: 'with events that wait for a team',
    // An event often arrives before its team is linked.
    noticeMs: 10 * 60_000,
    advice:
      'list them: `instep events list --outcome parked`; link a customer: `instep team link ID --customer CUS`',
    rows: () => `
      select customer_id as key,
             customer_id,
             null::text as team_id,
             since,
             changed_at,
             jsonb_build_object('events', events, 'position', position) as evidence
        from instep.customers
       cross join lateral (
               select count(*) as events,
                      max(position) as position,
                      min(received_at) as since,
                      max(received_at) as changed_at
                 from (
                        select position, received_at
                          from instep.events as event
                         where outcome = 'parked'
                           and event.customer_id = customers.customer_id
                         limit ${MAX_COUNTED_OF_CUSTOMER}
                      ) as counted
             ) as parked
       where waiting is not null
         and events > 0`,
    /** `newest`: the newest event, and so what the customer has subscribed to: see `subscriptionOf`. */
    evidence({ events }: { readonly events: number }, { event: newest, names }: Sources) {
      const productId = newest && parseLogged(newest)?.subscription.productId;
      return { events, newest, productName: names.get(productId ?? null) ?? null };
    },
  },

  // Only unreadable events have no customer, and the index `events_of_customer` has these first. The newest are listed first.
  'unreadable-event': {
    severity: 'warning',
    concerns: 'event',
    remedies: ['replay', 'dismiss'],
    text: 'that could not be read',
    advice:
      'upgrade Instep and replay them: `instep events replay --outcome unreadable`; if that does not help, report the reason from the log lines `event unreadable`',
    rows: () => `
      select to_char(9e15 - position, 'FM0000000000000000') as key,
             null::text as customer_id,
             null::text as team_id,
             received_at as since,
             received_at as changed_at,
             jsonb_build_object('position', position) as evidence
        from instep.events
       where customer_id is null
         and outcome = 'unreadable'`,
    evidence: (_, { event }) => event && { event, reason: whyUnreadable(event) },
  },

  /** Not decided by Stripe for ten minutes. */
  'unknown-order': {
    severity: 'warning',
    concerns: 'team',
    remedies: ['compare', 'dismiss'],
    text: 'with same-second events whose order is unknown',
    advice: SERVER_ASKS,
    rows: byState(
      `ambiguous_since < now() - interval '10 minutes' and ambiguous_subscription_id is not null`,
      'ambiguous_since',
      `jsonb_build_object('subscriptionId', ambiguous_subscription_id)`,
    ),
    evidence: asStored<Subscription>,
  },

  /**
   * A customer with a live subscription and without a team: operators took its team away, or a comparison found it at
   * Stripe. While its events wait for a team, that is its issue.
   */
  'customer-without-team': {
    severity: 'warning',
    concerns: 'customer',
    remedies: ['link', 'dismiss'],
    text: 'with a subscription but without a team',
    advice: 'link each to its team: `instep team link ID --customer CUS`',
    rows: (tables) => `
      ${found(tables, ['customer without a team'])}
         and not exists (
               select
                 from instep.customers as state
                where state.customer_id = found.customer_id
                  and not grants_plan
             )
         and not exists (
               select
                 from instep.events as event
                where outcome = 'parked'
                  and event.customer_id = found.customer_id
             )`,
    evidence: asStored<ComparisonEvidence>,
  },

  'unknown-customer': comparisonIssue(['unknown customer'], {
    severity: 'warning',
    remedies: ['link', 'compare', 'dismiss'],
    text: 'with a customer that Stripe does not know',
    advice:
      'link the right customer to each: `instep team link ID --customer CUS --replace OLD`; if Stripe knows none of them, check the account and the mode of the API key',
  }),

  /** With TEAM_PLAN=newest, the end of one subscription counts more than another one that goes on. */
  'paid-without-plan': {
    severity: 'warning',
    concerns: 'team',
    remedies: ['dismiss', 'cancel-subscription'],
    text: 'without a plan, because a subscription of the customer has ended; another one goes on',
    advice: 'set TEAM_PLAN=best and restart, or cancel the subscriptions that go on at Stripe',
    // A plan that the app gave away is one.
    rows: byState(
      `is_paid_without_plan
         and state.subscription_status not in (${GRANTING})
         and team.provider_subscription_id is null
         and coalesce(team.subscription_status not in (${GRANTING}), true)`,
      'access_since',
    ),
    /** The subscription that goes on. */
    evidence(_, { state, names }) {
      const plan = selectedReport(state, 'best')?.plan;
      const planName = plan?.planName ?? names.get(plan?.providerProductId ?? null) ?? null;
      return { subscriptionId: plan?.providerSubscriptionId ?? null, planName };
    },
  },

  'payment-due': {
    severity: 'warning',
    concerns: 'team',
    remedies: ['dismiss', 'collect-payment'],
    text: `with a plan whose payment has been due for more than ${PAYMENT_DUE_DAYS} days`,
    advice:
      'cancel the subscriptions or mark them unpaid at Stripe (Settings, Billing, Subscriptions), or set PAST_DUE_GRACE and ask instep.team_access',
    rows: byState(
      `due_since < now() - interval '${PAYMENT_DUE_DAYS} days'
         and access_status = 'past_due'
         and access_since < now() - interval '${PAYMENT_DUE_DAYS} days'
         and access_subscription_id = team.provider_subscription_id`,
      'access_since',
      `jsonb_build_object('subscriptionId', access_subscription_id)`,
    ),
    evidence: asStored<Subscription>,
  },

  /** The planned end of a team's subscription has passed by the margin that the view gives it. */
  'end-not-confirmed': {
    severity: 'warning',
    concerns: 'team',
    remedies: ['compare', 'dismiss'],
    text: 'without access, because the end of the subscription has passed; no event has confirmed it',
    advice: SERVER_ASKS,
    rows: byState(
      `access_ends_at < now() - interval '${END_MARGIN_SECONDS} seconds' and access_subscription_id is not null`,
      'access_ends_at',
      `jsonb_build_object('subscriptionId', access_subscription_id)`,
    ),
    evidence: asStored<Subscription>,
  },

  /** Those that an operator has dismissed are on purpose, until Stripe charges other subscriptions. */
  'charged-twice': {
    severity: 'warning',
    concerns: 'customer',
    remedies: ['dismiss', 'cancel-subscription'],
    text: 'with several subscriptions that Stripe charges at once',
    advice:
      'cancel the subscription that is not wanted at Stripe, or dismiss the issue in the console with a note',
    rows: () => `
      select customer_id as key,
             customer_id,
             null::text as team_id,
             charged_twice_since as since,
             charged_twice_since as changed_at,
             null::jsonb as evidence
        from instep.customers
       where charged_twice is not null`,
    /** The customer can have no team any more. Otherwise the team's plan shows which one it follows. */
    evidence(_, { state, names }): { subscriptions: readonly ChargedSubscription[] } {
      const charged = chargedSubscriptions(state).map(({ latest }) => {
        const { plan, status } = latest.reported;
        const planName = plan.planName ?? names.get(plan.providerProductId) ?? null;
        return { ...plan, planName, status, sinceMs: latest.sinceSeconds * 1_000 };
      });
      return { subscriptions: charged.sort((a, b) => a.sinceMs - b.sinceMs) };
    },
  },
} as const satisfies Readonly<Record<string, SubjectIssue>>;
