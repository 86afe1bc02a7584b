import { Hono } from 'hono';
import { checkHealth, countEvents, type OperateContext } from 'instep-operate';
import { Live } from '../components/live.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { NoEvents } from '../events/no-events.tsx';
import { Page } from '../page.tsx';
import { urlWith } from '../query-parameters.ts';
import { ChecksLink } from './checks-page.tsx';
import { EventsChart } from './events-chart.tsx';
import { IssueList } from './issue-list.tsx';
import { RANGES, type Range, rangeOf } from './range.ts';
import { TeamStatuses } from './team-statuses.tsx';

/** `GET /`: what needs attention, and the events that arrive. */
export function overviewPage(options: OperateContext): Hono {
  return new Hono().get('/', async (context) => {
    const range = rangeOf(context.req.query('range'));
    const isLive = context.req.query('live') !== 'off';
    const overview = await readOverview(options, range, options.now());
    return context.render(
      <Page title="Overview" area="Overview">
        <Controls range={range} isLive={isLive} />
        <Overview {...overview} range={range} isLive={isLive} />
        <ChecksLink />
      </Page>,
    );
  });
}

async function readOverview(context: OperateContext, range: Range, nowMs: number) {
  const [slots, health] = await Promise.all([countEvents(context, range), checkHealth(context)]);
  return { slots, health, nowMs };
}

type ControlsProps = { readonly range: Range; readonly isLive: boolean };
type OverviewProps = Awaited<ReturnType<typeof readOverview>> & ControlsProps;

/** The part of the page that is refreshed. */
function Overview({ slots, health, nowMs, range, isLive }: OverviewProps) {
  const { issues, figures } = health;
  const hasEvents = figures.lastReceivedMs !== null;
  return (
    <Live id="overview" url={isLive ? urlOf(range, isLive) : null} intervalSeconds={5} atMs={nowMs}>
      {(issues.length > 0 || hasEvents) && <IssueList health={health} nowMs={nowMs} />}
      {hasEvents ? (
        <Panel title={`Events per ${range.slot}`} id="panel-events">
          {slots === null ? (
            <Notice kind="empty" title={`The last ${range.name} has too many events`}>
              They can't be counted within 1 second. Choose a shorter time.
            </Notice>
          ) : (
            <EventsChart {...{ slots, range }} />
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

/** Outside the refreshed part, so that it keeps the focus. */
function Controls({ range, isLive }: ControlsProps) {
  return (
    <nav class="pager" aria-label="Time">
      {RANGES.map((one) => (
        <a href={urlOf(one, isLive)} aria-current={one === range ? 'true' : undefined}>
          Last {one.name}
        </a>
      ))}
      <a href={urlOf(range, !isLive)}>{isLive ? 'Stop updating' : 'Update every 5 s'}</a>
    </nav>
  );
}

const urlOf = ({ name }: Range, isLive: boolean) =>
  urlWith('/', { range: name, live: isLive ? null : 'off' });
