import { z } from 'zod';

const count = z.int().min(0);

/** How far a reconciliation is. */
const progressShape = z.object({
  phase: z.enum(['listing', 'comparing', 'done']),
  beganAtMs: z.int(),
  isDryRun: z.boolean(),
  /** The listing goes on after this subscription; `null`: at the beginning. */
  cursor: z.string().nullable(),
  /** The comparing goes on after this team. */
  afterTeamId: z.int(),
  counts: z.object({
    subscriptions: count,
    unreadable: count,
    teams: count,
    drifts: count,
    mended: count,
    customersWithoutTeam: count,
    unknownCustomers: count,
  }),
});

export type Progress = z.infer<typeof progressShape>;

/** What was noted of the last reconciliation; `null` when there was none. */
export function readProgress(noted: unknown): Progress | null {
  return progressShape.safeParse(noted).data ?? null;
}
