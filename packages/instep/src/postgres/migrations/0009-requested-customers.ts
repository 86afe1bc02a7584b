export const sql = `
-- Whether Stripe did not answer when the application asked for the customer.
alter table instep.new_customers
  add column is_requested boolean not null default false;
`;
