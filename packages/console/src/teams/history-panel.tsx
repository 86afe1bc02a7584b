import type { CustomerHistory, NamedTeam } from 'instep/operate';
import { Pager } from '../components/pager.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { TeamLink, teamName, teamUrl } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { HistoryTable } from './history-table.tsx';
import { TimelineChart } from './timeline-chart.tsx';

/** How many events of a customer a page can show. */
const LIMITS = [30, 100, 250] as const;

/** The requested number, or the smallest one. */
export function historyLimit(text: string | undefined): number {
  return LIMITS.find((limit) => String(limit) === text) ?? LIMITS[0];
}

type HistoryProps = {
  readonly team: NamedTeam;
  readonly history: CustomerHistory;
  readonly limit: number;
  /** The history before this position; `null`: the newest. */
  readonly before: number | null;
};

/** A timeline and a table of a part of the history. */
export function HistoryPanel({ team, history, limit, before }: HistoryProps) {
  const { entries, prunedBeforeMs } = history;
  const isNewest = before === null;
  const urlOf = (page: { readonly before: number | null; readonly limit: number }) => {
    const parameters = new URLSearchParams();
    if (page.before !== null) parameters.set('before', String(page.before));
    if (page.limit !== LIMITS[0]) parameters.set('events', String(page.limit));
    return `${teamUrl(team.id)}${parameters.size === 0 ? '' : `?${parameters}`}#history`;
  };
  const canZoom = history.before !== null || entries.length > LIMITS[0];
  return (
    <Panel title={isNewest ? 'History' : 'Older history'} id="history">
      {canZoom && (
        <nav class="pager" aria-label="Events shown">
          {LIMITS.map((one) => (
            <a
              href={urlOf({ before, limit: one })}
              aria-current={one === limit ? 'true' : undefined}
            >
              {one} events
            </a>
          ))}
        </nav>
      )}
      {entries.length === 0 ? (
        <Notice kind="empty" title={isNewest ? 'No events yet' : 'No older events'} />
      ) : (
        <>
          <TimelineChart entries={entries} isNewest={isNewest} />
          <p class="quiet">In the order of arrival, newest first</p>
          <HistoryTable entries={entries} />
        </>
      )}
      <Pager
        first={!isNewest && { href: urlOf({ before: null, limit }), text: 'Newest events' }}
        next={
          history.before !== null && {
            href: urlOf({ before: history.before, limit }),
            text: 'Older events',
          }
        }
      />
      {prunedBeforeMs !== null && (
        <p class="quiet">
          Events received before <Time ms={prunedBeforeMs} /> may have been pruned from the log.
        </p>
      )}
    </Panel>
  );
}

/** The page of an older part of a team's history. */
export function OlderPage(props: HistoryProps) {
  const { team } = props;
  return (
    <Page
      title={`Older events of ${teamName(team)}`}
      heading={
        <>
          Older events of <TeamLink id={team.id} team={team} />
        </>
      }
      area="Teams"
    >
      <HistoryPanel {...props} />
    </Page>
  );
}
