/** SQL for whether no operator has dismissed the subject since it was found. */
export function isNotDismissed(subject: string, since: string): string {
  return `not exists (
               select
                 from instep.operator_actions as dismissal
                where dismissal.action = 'dismiss'
                  and dismissal.subject = ${subject}
                  and dismissal.acted_at >= ${since}
             )`;
}
