export const sql = `
insert into instep.leased_jobs (name)
values ('alerts')
    on conflict do nothing;
`;
