import { Hono } from 'hono';
import { readProgress } from '../../../maintenance/reconcile/progress.ts';
import type { Database, Query } from '../../../postgres/database.ts';
import { readHealth } from '../../../queries/health.ts';
import { readLeasedJob } from '../../../queries/leased-jobs.ts';
import { readStatistics } from '../../../queries/read-statistics.ts';
import { readTeamCounts } from '../../../queries/team-counts.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Panel } from '../components/panel.tsx';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import { DelayChart } from './delay-chart.tsx';
import { EventsChart } from './events-chart.tsx';
import { StandingFacts } from './health-facts.tsx';
import { Verdict } from './health-summary.tsx';
import { concernsOf, type Standing } from './issues.ts';
import { firstSlotMs, RANGES, type Range, rangeOf } from './range.ts';
import { seriesOf } from './series.ts';
import { TeamStatuses } from './team-statuses.tsx';

/** `GET /`: whether anybody has to do anything, and how events come. */
export function overviewPages({ database, now }: ConsoleOptions): Hono {
  return new Hono().get('/', async (context) => {
    const range = rangeOf(context.req.query('range'));
    const isLive = context.req.query('live') !== 'off';
    const overview = await readOverview(database, range, now());
    return context.html(
      <Page title="Overview" area="Overview">
        <Choices range={range} isLive={isLive} />
        <Overview {...overview} range={range} isLive={isLive} />
      </Page>,
    );
  });
}

async function readOverview(database: Database, range: Range, nowMs: number) {
  const { query } = database;
  const asked = { slotSeconds: range.slotSeconds, sinceMs: firstSlotMs(range, nowMs) };
  const [{ figures, isWhole }, counts, standing] = await Promise.all([
    // In a transaction plans go by way of indexes: the planner does not know how few are not summed.
    database.transaction((inTransaction) => readStatistics(inTransaction, asked)),
    readTeamCounts(query),
    readStanding(query),
  ]);
  return { slots: seriesOf(figures, range, nowMs), isWhole, counts, standing, nowMs };
}

async function readStanding(query: Query): Promise<Standing> {
  const [health, catchUp, reconcile] = await Promise.all([
    readHealth(query),
    readLeasedJob(query, 'catch-up'),
    readLeasedJob(query, 'reconcile'),
  ]);
  return { health, catchUp, reconciled: readProgress(reconcile?.progress) };
}

type OverviewProps = Awaited<ReturnType<typeof readOverview>> & ChoicesProps;

type ChoicesProps = { readonly range: Range; readonly isLive: boolean };

/** The part that is asked for anew every few seconds. */
function Overview({ slots, isWhole, counts, standing, nowMs, range, isLive }: OverviewProps) {
  const refresh = {
    'hx-get': pathOf(range, isLive),
    'hx-trigger': 'every 5s',
    'hx-select': '#overview',
    'hx-swap': 'outerHTML',
  };
  const concerns = concernsOf(standing, nowMs);
  const hasEvents = standing.health.lastReceivedMs !== null;
  return (
    <div id="overview" {...(isLive ? refresh : {})}>
      {(concerns.length > 0 || hasEvents) && <Verdict concerns={concerns} />}
      {hasEvents ? (
        <div class="panels">
          <Panel title={`Events in each ${range.slot}`} id="panel-events">
            {!isWhole && <p class="quiet">The log is still being summed: some are missing.</p>}
            <EventsChart slots={slots} range={range} />
          </Panel>
          <Panel title="Delivery delay" id="panel-delay">
            <DelayChart slots={slots} range={range} />
          </Panel>
        </div>
      ) : (
        <EmptyState title="No events yet">
          Let Stripe send one: change a subscription there. If none comes, instep doctor says why.
        </EmptyState>
      )}
      <div class="panels">
        <Panel title="Teams by status" id="panel-teams">
          <TeamStatuses counts={counts} nowMs={nowMs} />
        </Panel>
        <Panel title="Out of step" id="panel-standing">
          <StandingFacts standing={standing} nowMs={nowMs} />
        </Panel>
      </div>
    </div>
  );
}

/** What is shown, and whether it changes by itself. Not a part of what changes, so it keeps the focus. */
function Choices({ range, isLive }: ChoicesProps) {
  return (
    <nav class="choices" aria-label="Time">
      {RANGES.map((one) => (
        <a href={pathOf(one, isLive)} aria-current={one === range ? 'true' : undefined}>
          Last {one.name}
        </a>
      ))}
      <a href={pathOf(range, !isLive)}>{isLive ? 'Stop updating' : 'Update every 5 s'}</a>
    </nav>
  );
}

function pathOf(range: Range, isLive: boolean): string {
  return `/?range=${range.name}${isLive ? '' : '&live=off'}`;
}
