export const sql = `
-- What operators did about a team, for its timeline; also serves what the former index did.
create index operator_actions_of_subject on instep.operator_actions (subject, acted_at);
drop index instep.operator_actions_dismissals;

-- The constraint that refuses a plan; null: the database names none.
alter table instep.findings add column refused_by text;
`;
