export const sql = `
-- Until when a dismissal holds, whatever is found meanwhile; null: until the issue changes.
alter table instep.operator_actions add column dismissed_until timestamptz;
`;
