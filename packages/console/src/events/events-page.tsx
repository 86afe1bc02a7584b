import { Hono } from 'hono';
import {
  type EventFilter,
  type EventRow,
  findEvents,
  LOGGED_OUTCOMES,
  type OperateContext,
  type PageEnds,
  subscriptionOf,
} from 'instep-operate';
import { outcomeText } from '../components/badges.tsx';
import { Field, Select, TimeField } from '../components/form.tsx';
import { FilterForm, isFiltered, List, readStart } from '../components/list.tsx';
import { Notice } from '../components/panels.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { eventUrl } from '../links.tsx';
import { Page } from '../page.tsx';
import { queryNumber, readFields } from '../query-parameters.ts';
import { type FilterFields, NO_FILTER, parseFilter } from './event-filter.ts';
import { EventTable, NoEvents } from './event-table.tsx';

const LIMIT = 50;

/** `/events`: the event log, newest first, with a filter. */
export function eventsPage(options: OperateContext): Hono {
  return new Hono().get('/', async (context) => {
    const { req, render, status } = context;
    const fields = readFields(NO_FILTER, req.query());
    const { filter, errors } = await parseFilter(options, fields);
    const form = <EventFilters {...{ fields, filter }} errors={errors ?? {}} />;
    if (filter === null) {
      status(400);
      return render(
        <Page title="Events" area="Events">
          {form}
          <Notice kind="error" title="Check the highlighted fields">
            {Object.values(errors).join(' ')}
          </Notice>
        </Page>,
      );
    }
    const found = findEvents(options, filter);
    const list = { name: 'events', columns: EXPORTED, rows: found.all() };
    const file = exportList(context, options.logger, list);
    if (file !== null) return file;
    const start = readStart((name) => queryNumber(req.query(name)));
    const page = await found.page({ start, limit: LIMIT });
    return render(
      <Page title="Events" area="Events">
        {form}
        <List
          {...{ ...page, start, fields }}
          path="/events"
          isEmpty={page.rows.length === 0}
          first="Newest"
          empty={start !== null || isFiltered(fields) ? <NothingFound /> : <NoEvents />}
          searched={<Searched {...page} isBackwards={start?.side === 'before'} />}
        >
          <EventTable events={page.rows} />
        </List>
      </Page>,
    );
  });
}

type EventFiltersProps = {
  readonly fields: FilterFields;
  readonly filter: EventFilter | null;
  readonly errors: Partial<FilterFields>;
};

function EventFilters({ fields, filter, errors }: EventFiltersProps) {
  return (
    <FilterForm label="Events" path="/events" fields={fields}>
      <Field
        label="Event, customer, subscription or team"
        name="search"
        type="search"
        value={fields.search}
        error={errors.search}
        maxlength={300}
      />
      <Select
        label="Outcome"
        name="outcome"
        any="any outcome"
        options={LOGGED_OUTCOMES}
        textOf={outcomeText}
        value={fields.outcome}
      />
      <TimeField label="From" name="from" ms={filter?.sinceMs} error={errors.from} />
      <TimeField label="Until" name="until" ms={filter?.untilMs} error={errors.until} />
    </FilterForm>
  );
}

function NothingFound() {
  return (
    <Notice kind="empty" title="No event found">
      Remove a filter, or choose another time. <a href="/events">Show all events</a>
    </Notice>
  );
}

type SearchedProps = Pick<PageEnds<number>, 'searchedTo'> & { readonly isBackwards: boolean };

function Searched({ searchedTo, isBackwards }: SearchedProps) {
  const url = eventUrl(searchedTo ?? 0);
  return (
    <>
      Searched the log {isBackwards ? 'up' : 'back'} to <a href={url}>event {searchedTo}</a>. There
      may be {isBackwards ? 'newer' : 'older'} ones.
    </>
  );
}

const EXPORTED: Columns<EventRow> = {
  position: ({ position }) => position,
  received_at: ({ receivedAtMs }) => exportedTime(receivedAtMs),
  created_at: ({ createdAtMs }) => exportedTime(createdAtMs),
  outcome: ({ outcome }) => outcome,
  event: ({ eventId }) => eventId,
  type: ({ type }) => type,
  status: (event) => subscriptionOf(event)?.status ?? null,
  product: (event) => subscriptionOf(event)?.productId ?? null,
  customer: ({ customerId }) => customerId,
  subscription: ({ subscriptionId }) => subscriptionId,
  deliveries: ({ deliveries }) => deliveries,
};
