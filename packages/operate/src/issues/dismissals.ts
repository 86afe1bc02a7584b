// What operators have dismissed. Nothing else about an issue is stored: each list of issues leaves out what is dismissed.

import { type ApplicationId, onlyRow, type Query } from 'instep-engine/postgres';

/** SQL for whether an operator has taken this dismissal back. */
const IS_RESTORED = `exists (
                       select
                         from instep.operator_actions as restored
                        where restored.action = 'restore'
                          and restored.is_done
                          and restored.subject = dismissal.subject
                          and restored.acted_at >= dismissal.acted_at
                     )`;

/** SQL for whether no operator has dismissed the subject since it was found, or until a later time. */
export function isNotDismissed(subject: string, since: string): string {
  return `not exists (
               select
                 from instep.operator_actions as dismissal
                where dismissal.action = 'dismiss'
                  and dismissal.is_done
                  and dismissal.subject = ${subject}
                  and (dismissal.acted_at >= ${since} or dismissal.dismissed_until > now())
                  and not ${IS_RESTORED}
             )`;
}

/** SQL for the id of the newest dismissal of a subject, even if it was taken back; null: there is none. */
export const newestDismissal = (subject: string) => `(
               select max(id)
                 from instep.operator_actions as dismissal
                where dismissal.action = 'dismiss'
                  and dismissal.is_done
                  and dismissal.subject = ${subject}
             )`;

/** The same of one subject. */
export async function readNewestDismissal(query: Query, subject: string): Promise<number | null> {
  const text = `select ${newestDismissal('$1')} as id`;
  const statement = { name: 'read_newest_dismissal', text, values: [subject] };
  return (await onlyRow<{ id: number | null }>(query, statement)).id;
}

/** The id of the newest dismissal of a subject, for a transaction that alone adds or takes back one; `null`: there is none. */
export async function lockDismissals(query: Query, subject: string): Promise<number | null> {
  await query({
    name: 'lock_dismissals',
    text: `select pg_advisory_xact_lock(hashtextextended('instep dismiss ' || $1, 0))`,
    values: [subject],
  });
  return await readNewestDismissal(query, subject);
}

/** That an operator has hidden what is wrong with a team. */
export type Dismissal = {
  /** The newest of the team, with which all end. */
  readonly id: number;
  readonly note: string | null;
  readonly operator: string | null;
  readonly dismissedAtMs: number;
  /** `null`: until the team or its subscription changes. */
  readonly untilMs: number | null;
};

/** The dismissal that holds for a team: until a later time, or of what its last comparison found; `null`: none does. */
export async function readDismissalOf(
  query: Query,
  teamId: ApplicationId,
): Promise<Dismissal | null> {
  const [dismissal = null] = await query<Dismissal>({
    name: 'read_dismissal_of',
    text: `
      select ${newestDismissal("'team:' || $1")} as id,
             note,
             operator,
             (extract(epoch from acted_at) * 1000)::bigint as "dismissedAtMs",
             (extract(epoch from dismissed_until) * 1000)::bigint as "untilMs"
        from instep.operator_actions as dismissal
       where subject = 'team:' || $1
         and action = 'dismiss'
         and is_done
         and (dismissed_until > now()
              or dismissed_until is null and exists (
                   select
                     from instep.findings
                    where team_id = $1
                      and found_at <= dismissal.acted_at
                 ))
         and not ${IS_RESTORED}
       order by dismissed_until desc nulls last, acted_at desc
       limit 1`,
    values: [String(teamId)],
  });
  return dismissal;
}
