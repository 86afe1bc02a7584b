import type { ApplicationId } from '../core/application.ts';
import { HAS_ISSUE, type TeamIssueCode } from '../health/issues.ts';
import { FILTER_VALUES } from '../maintenance/team-counts.ts';
import type { Query } from '../postgres/database.ts';
import { allTeamsWithLostPlans, LOST_PLAN } from '../postgres/statements/subscriptions.ts';
import type { ApplicationTables } from '../postgres/tables/application-tables.ts';
import { idFrom } from '../postgres/tables/id-from-text.ts';
import { NAMED_TEAM, type NamedTeam, type NamedTeamRow, toNamedTeam } from './named-teams.ts';

/** A team must match every given member. */
export type TeamFilter = {
  /** A part of the name, in upper or lower case. */
  readonly text?: string | undefined;
  readonly status?: string | undefined;
  /** A plan or product that the team has or had. */
  readonly plan?: string | undefined;
  readonly product?: string | undefined;
  readonly issue?: TeamIssueCode | undefined;
};

/** The sort keys of a list, as SQL that is never null. Teams with the same value are ordered by id. */
const SORTS = {
  name: "lower(coalesce(teams.name::text, ''))",
  status: "coalesce(teams.subscription_status::text, '')",
  plan: `lower(coalesce(${FILTER_VALUES.plan}, ''))`,
  customer: "coalesce(teams.provider_customer_id::text, '')",
} as const;

export type TeamSort = keyof typeof SORTS | 'id';

export type TeamOrder = { readonly sort: TeamSort; readonly isDescending: boolean };

type TeamList = {
  readonly filter: TeamFilter;
  readonly order: TeamOrder;
  /** Only teams that come after this one in the order; `null`: all. */
  readonly cursor: ApplicationId | null;
  readonly limit: number;
};

/** Some of the matching teams, and the last team that was examined; `null` when no others are left. */
type ListedTeams = {
  readonly teams: readonly NamedTeam[];
  readonly examinedTo: ApplicationId | null;
};

/** How many teams one statement examines in the order of their ids; it takes a few milliseconds. */
const EXAMINED = 5_000;

/**
 * Lists teams. The application has no index for names, plans or statuses, so one statement examines a part of
 * the table in the order of ids, or all of it in another order.
 */
export async function listTeams(query: Query, list: TeamList): Promise<ListedTeams> {
  const { filter, order, cursor, limit } = list;
  const values: unknown[] = [limit];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = conditionsOf(filter, parameter);
  const cursorText = cursor === null ? null : parameter(cursor);
  // Joined for the teams of the page only, unless the plan decides which they are.
  const needsPlan =
    order.sort === 'plan' || filter.plan !== undefined || filter.product !== undefined;
  type Row = NamedTeamRow & { examinedTo: ApplicationId | null };
  const rows = await query<Row | { id: null; examinedTo: ApplicationId | null }>({
    name: 'list_teams',
    text: (tables) => textOf(tables, order, { conditions, cursor: cursorText, needsPlan }),
    values,
  });
  const teams = rows.flatMap((row) => (row.id === null ? [] : [toNamedTeam(row)]));
  return { teams, examinedTo: rows[0]?.examinedTo ?? null };
}

type ListParts = {
  readonly conditions: readonly string[];
  /** The parameter of the cursor. */
  readonly cursor: string | null;
  /** Whether the order or a condition depends on the plan that a team had. */
  readonly needsPlan: boolean;
};

function textOf(
  tables: ApplicationTables,
  order: TeamOrder,
  { conditions, cursor, needsPlan }: ListParts,
): string {
  const { idType, rows } = tables.teams;
  const { sort, isDescending } = order;
  const direction = isDescending ? 'desc' : 'asc';
  const beyond = isDescending ? '<' : '>';
  const cursorId = cursor === null ? null : idFrom(idType, `${cursor}::text`);
  const keys = sort === 'id' ? ['teams.id'] : [SORTS[sort], 'teams.id'];
  const key = keys.join(', ');
  const orderBy = keys.map((one) => `${one} ${direction}`).join(', ');
  if (sort !== 'id') {
    const afterCursor =
      cursorId === null
        ? []
        : [
            `(${key}) ${beyond} (select ${key} from ${rows} as teams ${LOST_PLAN} where teams.id = ${cursorId})`,
          ];
    return `
      with page as materialized (
        select teams.*
          from ${needsPlan ? allTeamsWithLostPlans(tables) : `${rows} as teams`}
         ${whereOf([...conditions, ...afterCursor])}
         order by ${orderBy}
         limit $1
      )
      select null as "examinedTo", ${NAMED_TEAM}
        from page as teams ${needsPlan ? '' : LOST_PLAN}
       order by ${orderBy}`;
  }
  return `
      with examined as materialized (
        select *
          from ${rows} as teams
         ${cursorId === null ? '' : `where id ${beyond} ${cursorId}`}
         order by id ${direction}
         limit ${EXAMINED}
      ), page as materialized (
        select teams.*
          from examined as teams ${needsPlan ? LOST_PLAN : ''}
         ${whereOf(conditions)}
         order by ${orderBy}
         limit $1
      ), found as (
        select ${NAMED_TEAM}
          from page as teams ${LOST_PLAN}
      )
      select last.id as "examinedTo", found.*
        from (
               select (
                        select id
                          from examined
                         order by id ${direction}
                        offset ${EXAMINED - 1}
                         limit 1
                      ) as id
             ) as last
        left join found on true
       order by found.id ${direction}`;
}

const whereOf = (conditions: readonly string[]) =>
  conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;

function conditionsOf(
  { text, status, plan, product, issue }: TeamFilter,
  parameter: (value: unknown) => string,
): string[] {
  const given = (value: string | undefined, condition: (parameter: string) => string) =>
    value === undefined ? [] : [condition(parameter(value))];
  return [
    ...given(text, (one) => `strpos(lower(teams.name::text), lower(${one})) > 0`),
    ...given(status, (one) => `${FILTER_VALUES.status} = ${one}`),
    ...given(plan, (one) => `${FILTER_VALUES.plan} = ${one}`),
    ...given(product, (one) => `${FILTER_VALUES.product} = ${one}`),
    ...(issue === undefined ? [] : [HAS_ISSUE[issue]]),
  ];
}
