import type { ApplicationId } from '../../core/application.ts';
import type { LoggedEvent } from '../../core/subscription-event.ts';
import type { Query } from '../../postgres/database.ts';
import { LOGGED_EVENT } from '../../postgres/statements/events.ts';
import type { FoundIssue } from '../../postgres/statements/issues.ts';
import type { LinkedTeam } from '../../postgres/statements/teams.ts';
import type { ApplicationTables } from '../../postgres/tables/application-tables.ts';
import { idFrom } from '../../postgres/tables/id-from-text.ts';
import { parseLogged } from '../../stripe/parse-event.ts';
import { TEAM_KEY, teamNamedIn } from '../../stripe/subscription-facts.ts';

const READ_NEWEST = `
      select ${LOGGED_EVENT}
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

const READ_NAMED = ({ teams: { rows, idType } }: ApplicationTables) => `
      select asked.text,
             team.id,
             team.provider_customer_id as "customerId"
        from unnest($1::text[]) as asked (text)
        join ${rows} as team on team.id = ${idFrom(idType, 'asked.text')}
       where team.provider_customer_id is not null
         and team.provider_subscription_id is not null`;

/** The newest event of each of these customers, if it contains the key. A snapshot has no metadata. */
export async function readNewestNaming(
  query: Query,
  customerIds: readonly string[],
  key: string,
): Promise<LoggedEvent[]> {
  const values = [customerIds, Buffer.from(JSON.stringify(key))];
  return await query<LoggedEvent>({ name: 'read_newest_naming', text: READ_NEWEST, values });
}

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
  const namedBy = new Map<string, string>();
  for (const { subscription, object } of newest.flatMap((event) => parseLogged(event) ?? [])) {
    const named = teamNamedIn(object, metadataKey);
    if (named !== null) namedBy.set(subscription.customerId, named);
  }
  const others = subscribed.filter(({ id, customerId }) => {
    const named = namedBy.get(customerId);
    return named !== undefined && named !== String(id);
  });
  if (others.length === 0) return [];
  const rows = await query<{ text: string; id: ApplicationId; customerId: string }>({
    name: 'read_named_teams',
    text: READ_NAMED,
    values: [[...new Set(others.map(({ customerId }) => namedBy.get(customerId)))]],
  });
  const named = new Map(rows.map(({ text, ...team }) => [text, team]));
  return others.flatMap(({ id: teamId, customerId }) => {
    const other = named.get(namedBy.get(customerId) ?? '');
    if (other === undefined || other.id === teamId || other.customerId === customerId) return [];
    const cause = 'another team named';
    return [{ cause, teamId, customerId, plan: null, shouldBe: null, beganSeconds: null }];
  });
}
