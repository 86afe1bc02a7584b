// Finds teams that are paid for twice, because the metadata of their subscription names another team: for a comparison, and
// for the evidence of the issue (operate/find-issues.ts).

import type { ApplicationId } from '../../core/application.ts';
import type { LoggedEvent } from '../../core/subscription-event.ts';
import type { Query } from '../../postgres/database.ts';
import { columnArrays } from '../../postgres/statement.ts';
import { LOGGED_EVENT_COLUMNS } from '../../postgres/statements/events.ts';
import type { FoundIssue } from '../../postgres/statements/issues.ts';
import type { LinkedTeam } from '../../postgres/statements/teams.ts';
import type { ApplicationTables } from '../../postgres/tables/application-tables.ts';
import { idFrom } from '../../postgres/tables/id-from-text.ts';
import { parseLogged } from '../../stripe/parse-event.ts';
import { TEAM_KEY, teamNamedIn } from '../../stripe/subscription-facts.ts';
import { customerIssue } from './drift.ts';

const READ_NEWEST_NAMING = `
      select ${LOGGED_EVENT_COLUMNS}
        from unnest($1::text[]) as asked (asked_id)
       cross join lateral (
               select *
                 from instep.events
                where customer_id = asked_id
                  and event_id is not null
                order by position desc
                limit 1
             ) as newest
       where position($2 in body) > 0`;

/** The newest event of each of these customers, if it contains the key. A snapshot has no metadata. */
export async function readNewestNaming(
  query: Query,
  customerIds: readonly string[],
  key: string,
): Promise<LoggedEvent[]> {
  const values = [customerIds, Buffer.from(JSON.stringify(key))];
  return await query<LoggedEvent>({ name: 'read_newest_naming', text: READ_NEWEST_NAMING, values });
}

const FIND_NAMED = ({ teams: { rows, idType } }: ApplicationTables) => `
      select team.id as "teamId",
             team.provider_customer_id as "customerId"
        from unnest($1::text[], $2::text[]) as naming (customer_id, named)
        join ${rows} as team on team.provider_customer_id = naming.customer_id
        join ${rows} as named_team on named_team.id = ${idFrom(idType, 'naming.named')}
       where team.id = any ($3::${idType}[])
         and named_team.id <> team.id
         and named_team.provider_customer_id <> team.provider_customer_id
         and named_team.provider_subscription_id is not null`;

/**
 * Those of these teams whose customer pays for a subscription that names another team, which has a customer and a
 * subscription of its own: that team is paid for twice. The key of metadata is `teamId` by default.
 */
export async function findOtherTeamsNamed(
  query: Query,
  teams: readonly LinkedTeam[],
  key: string | null | undefined,
): Promise<FoundIssue[]> {
  const metadataKey = key ?? TEAM_KEY;
  const subscribed = teams.filter(({ plan }) => plan.providerSubscriptionId !== null);
  const customerIds = subscribed.map(({ customerId }) => customerId);
  const newest = await readNewestNaming(query, customerIds, metadataKey);
  const naming = newest.flatMap((event) => {
    const parsed = parseLogged(event);
    const named = parsed && teamNamedIn(parsed.object, metadataKey);
    return named == null ? [] : { customerId: parsed?.subscription.customerId, named };
  });
  if (naming.length === 0) return [];
  const found = await query<{ teamId: ApplicationId; customerId: string }>({
    name: 'find_other_teams_named',
    text: FIND_NAMED,
    values: [...columnArrays(naming, 'customerId', 'named'), subscribed.map(({ id }) => id)],
  });
  return found.map(({ teamId, customerId }) =>
    customerIssue('another team named', customerId, teamId),
  );
}
