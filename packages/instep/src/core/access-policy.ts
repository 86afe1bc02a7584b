import type { PlanSelection } from './plan-selection.ts';

/** When a team has access: one setting for all instances (docs/access.md). */
export type AccessPolicy = {
  /** Which of several subscriptions decides: `TEAM_PLAN`. */
  readonly planSelection: PlanSelection;
  /** How long a team keeps access while a payment is due; `null`: without limit. `PAST_DUE_GRACE`. */
  readonly pastDueGraceMs: number | null;
  /** Whether a paused subscription keeps access: `PAUSED_ACCESS`. */
  readonly keepsPaused: boolean;
};
