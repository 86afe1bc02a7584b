import * as v from 'valibot';

const whole = v.pipe(v.number(), v.integer());
const count = v.pipe(whole, v.minValue(0));

/** How far a reconciliation is. */
const progressShape = v.object({
  phase: v.picklist(['listing', 'comparing', 'done']),
  beganAtMs: whole,
  isDryRun: v.boolean(),
  /** The listing goes on after this subscription; `null`: at the beginning. */
  cursor: v.nullable(v.string()),
  /** The comparing goes on after this team. */
  afterTeamId: whole,
  counts: v.object({
    subscriptions: count,
    unreadable: count,
    teams: count,
    drifts: count,
    repaired: count,
    customersWithoutTeam: count,
    unknownCustomers: count,
  }),
});

export type Progress = v.InferOutput<typeof progressShape>;

/** What was noted of the last reconciliation; `null` when there was none. */
export function readProgress(noted: unknown): Progress | null {
  return v.is(progressShape, noted) ? noted : null;
}
