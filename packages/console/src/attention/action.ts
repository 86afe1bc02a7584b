import type { ReconcileServices, StripeApi } from 'instep/operate/inside';

/** What an operator can do about an issue. */
export const ACTIONS = ['link', 'replay', 'compare', 'repair', 'dismiss'] as const;
export type Action = (typeof ACTIONS)[number];

export type ActionServices = ReconcileServices & {
  readonly api: Pick<StripeApi, 'retrieveSubscription'>;
  /** A monotonic clock, in milliseconds. */
  readonly clockMs: () => number;
};

export type ActionRequest = {
  readonly action: Action;
  /** Such as `customer:cus_1`. */
  readonly subject: string;
  /** To link: the id or the name of a customer's team, or the id of a team's customer. */
  readonly linkTo?: string;
};

/** The result of an action, in a sentence. */
export type ActionResult = { readonly isDone: boolean; readonly result: string };

export const done = (result: string): ActionResult => ({ isDone: true, result });
export const failed = (result: string): ActionResult => ({ isDone: false, result });
