import type { AccessPolicy } from '../config/config.ts';
import type { Query } from '../postgres/database.ts';

/** The policy as environment variables. */
export function policyText({ planSelection, pastDueGraceMs, keepsPaused }: AccessPolicy): string {
  const grace = pastDueGraceMs === null ? 'off' : `${pastDueGraceMs / 1_000}s`;
  const paused = keepsPaused ? 'keep' : 'revoke';
  return `TEAM_PLAN=${planSelection} PAST_DUE_GRACE=${grace} PAUSED_ACCESS=${paused}`;
}

/** Stores the policy, by which the view `instep.team_access` decides. */
export async function storePolicy(query: Query, policy: AccessPolicy): Promise<void> {
  await query({
    name: 'store_access_policy',
    text: `
      update instep.access_policy
         set plan_selection = $1,
             past_due_grace = $2 * interval '1 millisecond',
             keeps_paused   = $3
       where (plan_selection, past_due_grace, keeps_paused)
             is distinct from ($1, $2 * interval '1 millisecond', $3)`,
    values: [policy.planSelection, policy.pastDueGraceMs, policy.keepsPaused],
  });
}

/** The stored policy, and those of the instances that are running. */
export type StoredPolicies = {
  readonly stored: AccessPolicy;
  /** As text, each once. */
  readonly running: readonly string[];
};

export async function readPolicies(query: Query): Promise<StoredPolicies> {
  const [row] = await query<AccessPolicy & { running: string[] }>({
    name: 'read_access_policies',
    text: `
      select plan_selection as "planSelection",
             (extract(epoch from past_due_grace) * 1000)::bigint as "pastDueGraceMs",
             keeps_paused as "keepsPaused",
             array(
               select distinct access_policy
                 from instep.runs
                where access_policy is not null
                  and seen_at > now() - interval '1 minute'
                order by access_policy
             ) as running
        from instep.access_policy`,
  });
  if (row === undefined) throw new RangeError('the migration inserted the policy');
  const { running, ...stored } = row;
  return { stored, running };
}
