import { Hono } from 'hono';
import {
  checkHealth,
  countEvents,
  countText,
  type HealthReport,
  type OperateContext,
  type Slot,
  type TeamCounts,
} from 'instep-operate';
import { Badge, StatusBadge } from '../components/badges.tsx';
import { Live } from '../components/live.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { NoEvents } from '../events/event-table.tsx';
import { Page } from '../page.tsx';
import { urlWith } from '../query-parameters.ts';
import { ChecksLink } from './checks-page.tsx';
import { EventsChart } from './events-chart.tsx';
import { IssueList } from './issue-list.tsx';

/** `GET /`: what needs attention, and the events that arrive. */
export function overviewPage(options: OperateContext): Hono {
  return new Hono().get('/', async (context) => {
    const isLive = context.req.query('live') !== 'off';
    const [slots, health] = await Promise.all([countEvents(options), checkHealth(options)]);
    return context.render(
      <Page title="Overview" area="Overview">
        <p>
          {/* Outside the refreshed part, so that it keeps the focus. */}
          <a href={isLive ? '/?live=off' : '/'}>{isLive ? 'Stop updating' : 'Update every 5 s'}</a>
        </p>
        <Overview {...{ slots, health, isLive }} nowMs={options.now()} />
        <ChecksLink />
      </Page>,
    );
  });
}

type OverviewProps = {
  /** `null`: too many events to be counted. */
  readonly slots: readonly Slot[] | null;
  readonly health: HealthReport;
  readonly isLive: boolean;
  readonly nowMs: number;
};

/** The part of the page that is refreshed. */
function Overview({ slots, health, isLive, nowMs }: OverviewProps) {
  const { issues, figures } = health;
  const hasEvents = figures.lastReceivedMs !== null;
  return (
    <Live id="overview" url={isLive ? '/' : null} intervalSeconds={5} atMs={nowMs}>
      {(issues.length > 0 || hasEvents) && <IssueList health={health} nowMs={nowMs} />}
      {hasEvents ? (
        <Panel title="Events of the last day" id="panel-events">
          {slots === null ? (
            <Notice kind="empty" title="The last day has too many events">
              They can't be counted within 1 second.
            </Notice>
          ) : (
            <EventsChart slots={slots} />
          )}
        </Panel>
      ) : (
        <NoEvents />
      )}
      <Panel title="Teams by status" id="panel-teams">
        <TeamStatuses counts={health.teams} />
      </Panel>
    </Live>
  );
}

/** The number of teams per status, most frequent first. */
function TeamStatuses({ counts }: { readonly counts: TeamCounts | null }) {
  if (counts === null) return <p>Too many teams: they can't be counted within half a second.</p>;
  if (counts.statuses.length === 0) return <p>No teams yet: your app adds them.</p>;
  return (
    <ul class="legend">
      {counts.statuses.map(({ status, teams }) => (
        <li>
          <a id={`teams-${status}`} href={urlWith('/teams', { status })}>
            <StatusOf status={status} />
          </a>{' '}
          {countText(teams)}
        </li>
      ))}
    </ul>
  );
}

/** The counts group rare statuses as `other`, and `none` are the teams without a status. */
function StatusOf({ status }: { readonly status: string }) {
  if (status === 'other') return <Badge tone="warning">another status</Badge>;
  return <StatusBadge status={status === 'none' ? null : status} />;
}
