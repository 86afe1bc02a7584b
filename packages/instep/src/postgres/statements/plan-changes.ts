import { PLAN_FIELDS } from '../../core/transition.ts';
import { contractColumn } from '../tables/application-tables.ts';

/** What changed a team's plan: `app` is the application itself, which Instep noticed later. */
export type PlanChangeCause =
  | 'event'
  | 'snapshot'
  | 'repair'
  | 'rebuild'
  | 'link'
  | 'grant'
  | 'grant_ended'
  | 'name'
  | 'operator'
  | 'app';

/** Why Instep changes a plan, for the history of changes. */
export type ChangeReason = {
  readonly cause: PlanChangeCause;
  /** The id of the event at Stripe, if it has one. */
  readonly eventId?: string | null;
  /** When the event was created by Stripe's clock, in seconds since 1970. */
  readonly eventCreatedSeconds?: number | null;
  /** Who made the change: the operator's name. */
  readonly operator?: string | null;
};

/** The columns of `instep.plan_changes` for a plan, in the order of `PLAN_FIELDS`. */
export const columnsOfPlan = (when: 'before' | 'after') =>
  PLAN_FIELDS.map((field) => `${contractColumn(field)}_${when}`);

const BEFORE = columnsOfPlan('before').join(', ');
const AFTER = columnsOfPlan('after').join(', ');
const COLUMNS = `team_id, customer_id, cause, event_id, event_created_at, operator, ${BEFORE}, ${AFTER}`;

/**
 * The statement that records the changes of teams, which are rows of `source` with the same columns. A plan that is
 * the same as before is no change.
 */
export const recordChanges = (source: string) => `
        insert into instep.plan_changes (${COLUMNS})
        select ${COLUMNS}
          from ${source}
         where (${BEFORE}) is distinct from (${AFTER})`;
