import {
  counted,
  countText,
  type EventFilter,
  findEvents,
  type OperateContext,
} from 'instep/operate';
import { Live } from '../components/live.tsx';
import { type FilterFields, filterUrl } from '../links/event-links.tsx';

/**
 * The extent of the log when a page was rendered. An event gets its position before it is committed, so the
 * next events to appear may have smaller positions than the newest on the page.
 */
type Baseline = { readonly after: number; readonly count: number };

/** How far below the newest position late commits are looked for. */
const LATE = 1_000;

const MAX_COUNTED = 1_000;

export async function readBaseline(
  context: OperateContext,
  filter: EventFilter,
  newestPosition: number,
): Promise<Baseline> {
  const after = Math.max(0, newestPosition - LATE);
  return {
    after,
    count: await findEvents(context, filter).count({ after, limit: LATE + MAX_COUNTED }),
  };
}

/** Counts the events that have arrived since. */
export async function countNewer(
  context: OperateContext,
  filter: EventFilter,
  { after, count }: Baseline,
): Promise<number> {
  return (
    (await findEvents(context, filter).count({ after, limit: LATE + 2 * MAX_COUNTED })) - count
  );
}

type NewerEventsProps = {
  readonly fields: FilterFields;
  readonly baseline: Baseline;
  readonly newer: number;
  readonly nowMs: number;
};

/** A link to the events that have arrived since. It refreshes itself; the table never moves. */
export function NewerEvents({ fields, baseline, newer, nowMs }: NewerEventsProps) {
  const url = filterUrl('/events/newer', fields, baseline);
  return (
    <Live id="newer" url={url} intervalSeconds={5} atMs={nowMs}>
      <p class="newer" role="status">
        {newer > 0 && (
          <a href={filterUrl('/events', fields)}>
            {newer >= MAX_COUNTED
              ? `${countText(newer, MAX_COUNTED)} newer events`
              : counted(newer, 'newer event')}
          </a>
        )}
      </p>
    </Live>
  );
}
