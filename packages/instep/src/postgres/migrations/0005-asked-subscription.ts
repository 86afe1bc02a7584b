export const sql = `
-- The subscription that the application had written to the team's row when Stripe was asked.
alter table instep.new_customers
  add column subscription_id text;
`;
