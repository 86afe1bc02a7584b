export const sql = `
-- From now on, every transaction that changes what Stripe charges a customer for keeps instep.double_billed up to date.
-- A job read all latest states before.
delete from instep.leased_jobs
 where name = 'double-billing';

insert into instep.double_billed (customer_id)
select customer_id
  from instep.latest_states
 where subscription_id <> ''
   and status in ('trialing', 'active', 'past_due')
 group by customer_id
having count(*) > 1
    on conflict do nothing;
`;
