export const sql = `
-- Everything that one instance at a time does is a row of leased_jobs. What these jobs remember is their
-- progress: the statistics and the team counts are computed again.
insert into instep.leased_jobs (name)
values ('retention'), ('statistics'), ('team-counts');

alter table instep.pruning drop column started_at;

drop table instep.team_counts;
drop table instep.statistics_progress;
truncate instep.statistics, instep.statistics_parked;
`;
