import type { Query } from '../database.ts';
import { columnArrays } from '../statement.ts';
import type { ApplicationTables } from '../tables/application-tables.ts';
import { idFrom } from '../tables/id-from-text.ts';

/** An operator's action on a team, a customer, a subscription or an event, and its result. */
type OperatorAction = {
  /** Such as `team:1`, `customer:cus_1`, `subscription:sub_1` or `event:1`. */
  readonly subject: string;
  /** A verb, such as `repair`. */
  readonly action: string;
  readonly isDone: boolean;
  /** In one sentence. */
  readonly result: string;
  readonly note: string | null;
};

/** Records the actions of one form, and deletes those older than a year. */
export async function recordActions(
  query: Query,
  formId: string,
  actions: readonly OperatorAction[],
): Promise<void> {
  await query({
    name: 'record_actions',
    text: `
      with forgotten as (
        delete from instep.operator_actions
         where acted_at < now() - interval '1 year'
      )
      insert into instep.operator_actions (form_id, subject, action, is_done, result, note)
      select $1, subject, action, is_done, result, note
        from unnest($2::text[], $3::text[], $4::boolean[], $5::text[], $6::text[])
          as acted (subject, action, is_done, result, note)
          on conflict do nothing`,
    values: [formId, ...columnArrays(actions, 'subject', 'action', 'isDone', 'result', 'note')],
  });
}

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

export type RecordedAction = OperatorAction & {
  readonly actedAtMicroseconds: number;
  /** `null`: the subject is not a team, or the team is gone or has no name. */
  readonly teamName: string | null;
  /** `null`: the subject is not an event, or the event is gone or has no id. */
  readonly eventId: string | null;
};

const ACTIONS = ({ teams }: ApplicationTables) => `
      select subject, action, is_done as "isDone", result, note,
             (extract(epoch from acted_at) * 1000000)::bigint as "actedAtMicroseconds",
             name as "teamName", event_id as "eventId"
        from instep.operator_actions
        left join ${teams.rows} as teams
          on starts_with(subject, 'team:')
         and teams.id = ${idFrom(teams.idType, "substr(subject, length('team:') + 1)")}
        left join instep.events
          on starts_with(subject, 'event:')
         and position = ${idFrom('bigint', "substr(subject, length('event:') + 1)")}`;

const READ_ACTIONS_OF = (tables: ApplicationTables) => `
      ${ACTIONS(tables)}
       where form_id = $1
       order by subject`;

const READ_ACTIONS = (tables: ApplicationTables) => `
      ${ACTIONS(tables)}
       where $1::bigint is null
          or acted_at < timestamptz 'epoch' + $1::bigint * interval '1 microsecond'
       order by acted_at desc
       fetch first $2 rows with ties`;

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The actions of a form; none for anything but a form's id. */
export async function readActionsOf(query: Query, formId: string): Promise<RecordedAction[]> {
  if (!UUID.test(formId)) return [];
  return await query<RecordedAction>({
    name: 'read_actions_of',
    text: READ_ACTIONS_OF,
    values: [formId],
  });
}

/** The subject of actions that link a team to its customer, and a part of their results. */
export type RecordedLink = { readonly subject: string; readonly resultPart: string };

/** When an operator last made one of these links, in milliseconds since 1970; `null`: never. */
export async function readLinkedMs(
  query: Query,
  links: readonly RecordedLink[],
): Promise<number | null> {
  const [row] = await query<{ linkedMs: number | null }>({
    name: 'read_linked_ms',
    text: `
      select (extract(epoch from max(acted_at)) * 1000)::bigint as "linkedMs"
        from instep.operator_actions as acted
        join unnest($1::text[], $2::text[]) as link (subject, result_part)
          on acted.subject = link.subject
         and strpos(acted.result, link.result_part) > 0
       where acted.action = 'link'`,
    values: columnArrays(links, 'subject', 'resultPart'),
  });
  return row?.linkedMs ?? null;
}

/** The newest actions before a time in microseconds since 1970; `null`: the newest of all. */
export async function readActions(
  query: Query,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<RecordedAction[]> {
  return await query<RecordedAction>({
    name: 'read_actions',
    text: READ_ACTIONS,
    values: [before, limit],
  });
}
