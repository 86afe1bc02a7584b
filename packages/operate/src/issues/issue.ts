// What an issue is: something that is wrong with the service, or with one team, customer or event. Each kind is an object:
// service-issues.ts and subject-issues.ts have them, issues.ts has all.

/**
 * `failure`: events are lost or refused, users are signed out, or a team has a wrong plan. `warning`: an operator must decide, or
 * something can become worse. `notice`: it is probably over soon.
 */
export type Severity = 'failure' | 'warning' | 'notice';

/** What resolves an issue: an action on its subject, or work at Stripe. */
export type Remedy =
  | 'link'
  | 'replay'
  | 'compare'
  | 'repair'
  | 'dismiss'
  | 'collect-payment'
  | 'cancel-subscription';

/** What every issue with one code has in common. */
export type IssueKind = {
  readonly severity: Severity;
  /** What it concerns: the service as a whole, or one thing that an operator can act on. */
  readonly concerns: 'service' | 'team' | 'customer' | 'event';
  /** None for an issue of the service: its advice says what to do. */
  readonly remedies: readonly Remedy[];
  /** What to do, from a terminal; commands are in backticks. */
  readonly advice: string;
};

/** Advice that several issues have. */
export const SERVER_ASKS =
  'check that the server is running, because it gets this from Stripe, and what STRIPE_SECRET_KEY can read';
export const REPAIR = 'compare and repair them: `instep reconcile`';
