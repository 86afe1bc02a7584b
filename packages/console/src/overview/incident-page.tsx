import { Hono } from 'hono';
import {
  type AffectedTeam,
  counted,
  countText,
  durationText,
  type Interruption,
  type LateEvents,
  type OperateContext,
  type Period,
  readIncident,
} from 'instep/operate';
import { ExportLinks } from '../components/export-links.tsx';
import { Button, TimeField } from '../components/form.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import { parseFilter } from '../events/event-filter.ts';
import { exportedTime, exportList } from '../export.ts';
import { incidentUrl, NO_FILTER } from '../links/event-links.tsx';
import { TeamLink } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { readFields } from '../query-parameters.ts';
import { Refusals } from './events-chart.tsx';
import { Marks } from './marks.tsx';

const HOUR_MS = 3_600_000;
const MAX_TEAMS = 100;
const COLUMNS = ['Team', 'Late events', 'Longest delay', 'Last one arrived'] as const;

/** `/incident`: what went wrong in a period, and for which teams. */
export function incidentPage(options: OperateContext): Hono {
  return new Hono().get('/', async (context) => {
    const nowMs = options.now();
    const entered = readFields({ from: '', until: '' }, (name) => context.req.query(name));
    const fields = { ...NO_FILTER, ...entered };
    const { filter, errors } = await parseFilter(options, fields, nowMs);
    const sinceMs = filter?.sinceMs ?? (filter?.untilMs ?? nowMs) - HOUR_MS;
    const period = { sinceMs, untilMs: filter?.untilMs ?? sinceMs + HOUR_MS };
    const isPeriod = filter !== null && period.untilMs > sinceMs;
    if (!isPeriod) context.status(400);
    const file = isPeriod && exportList(context, options, affectedTeams(period));
    if (file) return file;
    const error = errors?.until ?? (period.untilMs <= sinceMs ? 'Enter a later time.' : undefined);
    return context.render(
      <Page title="Incident" area="Overview">
        <search aria-label="Period">
          <form method="get" action="/incident" class="row">
            <TimeField label="From" name="from" ms={sinceMs} error={errors?.from} />
            <TimeField label="Until" name="until" ms={period.untilMs} error={error} />
            <Button kind="main">Show</Button>
          </form>
        </search>
        {filter !== null && error === undefined && <Incident {...(await read(options, period))} />}
      </Page>,
    );
  });
}

async function read(options: OperateContext, period: Period) {
  const limits = { maxTeams: MAX_TEAMS + 1 };
  const { interruptions: marks, ...found } = await readIncident(options, period, limits);
  const lateIn = new Map<Interruption, LateEvents | null>(marks.map((mark) => [mark, mark.late]));
  return { ...found, period, marks, lateIn };
}

function Incident(found: Awaited<ReturnType<typeof read>>) {
  const { period, marks, late, responses, teams, lateIn, isKnown } = found;
  const failures = responses.filter(({ status }) => status >= 400);
  const failed = failures.reduce((sum, { count }) => sum + count, 0);
  const noteOf = (mark: Interruption) => {
    const after = lateIn.get(mark);
    return after && `; ${outageText(after)}`;
  };
  return (
    <>
      <p class="lead">
        {counted(failed, 'failed response')} to Stripe; {lateText(late)}.
      </p>
      {late.isMore && (
        <p class="quiet">Only the first {countText(late.of)} events of the period were examined.</p>
      )}
      <Panel title="Restarts and failures" id="failures">
        {marks.length === 0 && failed === 0 && isKnown && (
          <p>Instep was running, and no delivery was refused.</p>
        )}
        {!isKnown && <p>It is not known whether Instep was running all of that time.</p>}
        <Marks {...{ marks, noteOf }} />
        <Refusals responses={failures} />
        <p>
          <a href={incidentUrl(period).replace('/incident', '/events')}>Events that arrived</a>
        </p>
      </Panel>
      <Panel title="Affected teams" id="affected">
        {teams.length === 0 ? (
          <Notice kind="empty" title="No team had a late event" />
        ) : (
          <>
            <ExportLinks url={incidentUrl(period)} />
            <Table
              label="Affected teams"
              columns={COLUMNS}
              rows={teams.slice(0, MAX_TEAMS).map(cells)}
            />
            {teams.length > MAX_TEAMS && <p class="quiet">The export has the others.</p>}
          </>
        )}
      </Panel>
    </>
  );
}

/** `214 of 300 events of that time arrived late, up to 2 h`. */
function lateText({ events, of, longestDelayMs }: LateEvents): string {
  const all = counted(of, 'event');
  if (longestDelayMs === null) return `none of ${all} of that time arrived late`;
  return `${countText(events)} of ${all} of that time arrived late, up to ${durationText(longestDelayMs)}`;
}

function outageText({ events, longestDelayMs }: LateEvents): string {
  if (longestDelayMs === null) return 'no event arrived later';
  const these = events === 1 ? 'this event' : `these ${countText(events)} events`;
  return `${these} arrived later, up to ${durationText(longestDelayMs)}`;
}

const cells = (team: AffectedTeam) => [
  <TeamLink id={team.id} team={team} />,
  countText(team.lateEvents),
  durationText(team.longestDelayMs),
  <Time ms={team.arrivedAtMs} format="age" />,
];

const affectedTeams = (period: Period) => ({
  name: 'affected-teams',
  columns: {
    team: ({ id }: AffectedTeam) => id,
    name: ({ name }: AffectedTeam) => name,
    customer: ({ customerId }: AffectedTeam) => customerId,
    late_events: ({ lateEvents }: AffectedTeam) => lateEvents,
    delay_seconds: ({ longestDelayMs }: AffectedTeam) => Math.round(longestDelayMs / 1_000),
    arrived_at: ({ arrivedAtMs }: AffectedTeam) => exportedTime(arrivedAtMs),
  },
  async *rows(reading: OperateContext) {
    yield* (await readIncident(reading, period)).teams;
  },
});
