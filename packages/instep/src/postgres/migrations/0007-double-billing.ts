export const sql = `
-- The customers with several subscriptions that Stripe charges, as a job last found them.
create table instep.double_billed (
  customer_id               text   primary key,
  -- Those that an operator dismissed: on purpose. Any other set of subscriptions is an issue again.
  accepted_subscription_ids text[]
);

insert into instep.leased_jobs (name)
values ('double-billing');
`;
