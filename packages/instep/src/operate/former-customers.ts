import type { ApplicationId } from '../core/application.ts';
import { PLAN_FIELDS } from '../core/transition.ts';
import type { Query } from '../postgres/database.ts';
import { columnOfPlan } from '../postgres/statements/plan-changes.ts';

/** A customer that a team no longer has, and the time of its events that belong to the team, since 1970. */
export type FormerCustomer = {
  readonly customerId: string;
  /** Also events that waited for the team count; 0 unless another team had the customer before. */
  readonly sinceMs: number;
  /** When it was replaced or unlinked or, if the application did that unnoticed, when the team last had it for sure. */
  readonly untilMs: number;
};

const IS_CLEARED = `cause = 'link' and num_nonnulls(${PLAN_FIELDS.map((field) => columnOfPlan(field, 'after')).join(', ')}) = 0`;

// The audit of links has an index of customers and teams, and the history of plans one of teams: no statement reads
// more than the rows of this team and of its customers.
const READ_FORMER_CUSTOMERS = `
      with recursive had as (
        (
          select $2::text as customer_id
           union
          select customer_id
            from instep.plan_changes
           where team_id = $1
           union
          select outcome ->> 'customerId'
            from instep.operator_actions
           where subject = 'team:' || $1
             and outcome ->> 'code' in ('linked', 'unlinked')
        )
         union
        select outcome ->> 'former'
          from had
          join instep.operator_actions
            on linked_customer_id = had.customer_id
           and linked_team_id = $1
      ), linked as materialized (
        select linked_customer_id, linked_team_id, acted_at, outcome ->> 'former' as former
          from instep.operator_actions
         where linked_team_id is not null
           and linked_customer_id in (select customer_id from had)
      ), evidence as materialized (
        select customer_id, changed_at as at, ${IS_CLEARED} as is_end
          from instep.plan_changes
         where team_id = $1
         union all
        select linked_customer_id, acted_at, false
          from linked
         where linked_team_id = $1
         union all
        select former, acted_at, true
          from linked
         where linked_team_id = $1
           and former <> linked_customer_id
         union all
        select outcome ->> 'customerId', acted_at, true
          from instep.operator_actions
         where subject = 'team:' || $1
           and outcome ->> 'code' = 'unlinked'
      ), last as (
        select distinct on (customer_id) customer_id, at, is_end
          from evidence
         where customer_id is distinct from $2
           and customer_id is not null
         order by customer_id, at desc, is_end desc
      )
      select customer_id as "customerId",
             (extract(epoch from case
               when exists (
                 select
                   from linked
                  where linked_customer_id = last.customer_id
                    and linked_team_id <> $1
                    and acted_at < first.at
               ) then first.at
               else 'epoch'
             end) * 1000)::bigint as "sinceMs",
             (extract(epoch from coalesce((
               select min(evidence.at)
                 from evidence
                where evidence.customer_id is distinct from last.customer_id
                  and evidence.at > last.at
                  and not last.is_end
             ), last.at)) * 1000)::bigint as "untilMs"
        from last
       cross join lateral (
               select min(evidence.at) as at
                 from evidence
                where evidence.customer_id = last.customer_id
             ) as first
       order by "untilMs" desc`;

/** The former customers of a team, the last one first, from the audit and the history of plans. */
export async function readFormerCustomers(
  query: Query,
  { id, customerId }: { readonly id: ApplicationId; readonly customerId: string | null },
): Promise<FormerCustomer[]> {
  return await query<FormerCustomer>({
    name: 'read_former_customers',
    text: READ_FORMER_CUSTOMERS,
    values: [String(id), customerId],
  });
}
