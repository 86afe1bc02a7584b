export const sql = `
alter table instep.operator_actions
  -- Who acted, and through which program. Null for the actions of an earlier version.
  add column operator           text,
  add column operator_how       text,
  -- The result as a code with its data. Null for the actions of an earlier version, which have a sentence.
  add column outcome            jsonb,
  -- The team and the customer that a link joined.
  add column linked_team_id     text,
  add column linked_customer_id text,
  alter column result set default '';

create index operator_actions_links on instep.operator_actions (linked_customer_id, linked_team_id)
  where linked_team_id is not null;

-- The links of an earlier version, from their sentences.
update instep.operator_actions
   set linked_team_id     = substr(subject, length('team:') + 1),
       linked_customer_id = substring(result from '^Linked to (.+?)\\. ')
 where action = 'link'
   and starts_with(subject, 'team:')
   and starts_with(result, 'Linked to ');

update instep.operator_actions
   set linked_team_id     = substring(result from '\\(team ([^()]+)\\)\\. '),
       linked_customer_id = substr(subject, length('customer:') + 1)
 where action = 'link'
   and starts_with(subject, 'customer:')
   and starts_with(result, 'Linked to ');
`;
