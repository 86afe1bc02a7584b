-- So that a subscription's customer is found. The table has a row for each subscription, not for
-- each event: with a million of them writers wait for about a second. An update never touches the
-- index, since no subscription changes its id. Who knows the customer too goes by the primary key:
-- the condition keeps the planner from taking this index for it.
create index subscriptions_by_id on instep.subscriptions (subscription_id, customer_id)
  where subscription_id <> '';
