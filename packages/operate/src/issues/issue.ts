// What an issue is: something that is wrong with the service, or with one team, customer or event. Each one is an object with
// all that is known about its kind: service-issues.ts and subject-issues.ts have them, issues.ts has all.

/**
 * `failure`: events are lost or refused, users are signed out, or a team has a wrong plan. `warning`: an operator must decide, or
 * something can become worse. `notice`: it is probably over soon.
 */
export type Severity = 'failure' | 'warning' | 'notice';

/** What an issue concerns: the service as a whole, or one thing that an operator can act on. */
export type Concern = 'service' | 'team' | 'customer' | 'event';

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
  readonly concerns: Concern;
  /** None for an issue of the service: its advice says what to do. */
  readonly remedies: readonly Remedy[];
  /** What to do, from a terminal; commands are in backticks. */
  readonly advice: string;
};

/** Advice that several issues have. */
export const SERVER_ASKS =
  'check that the server is running, because it gets this from Stripe, and what STRIPE_SECRET_KEY can read';
export const REPAIR = 'compare and repair them: `instep reconcile`';
