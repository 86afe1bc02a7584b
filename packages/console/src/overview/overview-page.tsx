import { Hono } from 'hono';
import {
  checkHealth,
  countEvents,
  type HealthReport,
  type OperateContext,
  type Slot,
} from 'instep-operate';
import { Live } from '../components/live.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { NoEvents } from '../events/event-table.tsx';
import { Page } from '../page.tsx';
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
  const { issues, lastReceivedMs } = health;
  const hasEvents = lastReceivedMs !== null;
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
    </Live>
  );
}
