import type { ApplicationId } from '../core/application-id.ts';

/** Identifies a logged event for a person. */
export type EventReference = {
  /** Several events can share an id, but none shares its position; `null`: it is not in the log. */
  readonly position: number | null;
  readonly eventId: string | null;
  readonly isSnapshot: boolean;
  readonly subscriptionId: string | null;
};

/** Why an event has its outcome. The operators' pages and commands put it into words. */
export type Reason =
  /** `problem`: what can't be read; `null`: the stored body is not a subscription event at all. */
  | { readonly code: 'unreadable'; readonly problem: string | null }
  | { readonly code: 'readable-now'; readonly position: number }
  | { readonly code: 'no-team'; readonly customerId: string | null }
  | { readonly code: 'team-linked-since'; readonly teamIds: readonly ApplicationId[] }
  /** The events around it were pruned, or were decided in another order or with another TEAM_PLAN. */
  | { readonly code: 'no-longer-known' }
  | {
      readonly code: 'newest-event' | 'best-subscription' | 'shown-by-stripe';
      readonly status: string;
      readonly effect: 'grants' | 'clears';
    }
  | { readonly code: 'decided-order-of-second'; readonly last: EventReference }
  | { readonly code: 'no-longer-best'; readonly followed: EventReference }
  | {
      readonly code: 'newer-event';
      readonly newer: EventReference;
      readonly isSameSubscription: boolean;
      readonly secondsLater: number;
      /** Whether the newer event arrived after this one. */
      readonly isLaterArrival: boolean;
    }
  | {
      readonly code: 'earlier-in-second';
      readonly last: EventReference;
      readonly eventCount: number;
    }
  | { readonly code: 'status-without-effect'; readonly status: string }
  | { readonly code: 'better-subscription'; readonly followed: EventReference }
  | { readonly code: 'ambiguous-order'; readonly eventCount: number }
  | { readonly code: 'decided-later'; readonly isMaybePruned: boolean }
  | { readonly code: 'earlier-events-pruned'; readonly prunedBeforeMs: number };
