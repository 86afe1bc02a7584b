import { Hono } from 'hono';
import {
  type EventFilter,
  type EventRow,
  findEvents,
  LOGGED_OUTCOMES,
  LOGGED_TYPES,
  type OperateContext,
  type PageOfEvents,
  subscriptionOf,
} from 'instep-operate';
import { outcomeText } from '../components/badges.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { Field, Select, TimeField } from '../components/form.tsx';
import { List, readStart } from '../components/list.tsx';
import { Notice } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { eventsUrl, type FilterFields, NO_FILTER } from '../links/event-links.tsx';
import { Page } from '../page.tsx';
import { queryNumber, readFields } from '../query-parameters.ts';
import { parseFilter } from './event-filter.ts';
import { eventPage } from './event-page.tsx';
import { EventTable } from './event-table.tsx';
import { NoEvents } from './no-events.tsx';

const LIMIT = 50;

/** `/events`: the event log, newest first, with a filter; and each event's page. */
export function eventPages(options: OperateContext): Hono {
  const { now } = options;
  const app = new Hono();

  app.get('/', async (context) => {
    const { req, render, status } = context;
    const fields = readFields(NO_FILTER, (name) => req.query(name));
    const { filter, errors } = await parseFilter(options, fields, now());
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
    const file = exportList(context, options, {
      name: 'events',
      columns: EXPORTED,
      rows: (reading) => findEvents(reading, filter).all(),
    });
    if (file !== null) return file;
    const start = readStart((name) => queryNumber(req.query(name)));
    const page = await findEvents(options, filter).page({ start, limit: LIMIT });
    const isFiltered = Object.values(fields).some((value) => value !== '');
    return render(
      <Page title="Events" area="Events">
        {form}
        <List
          {...{ ...page, start }}
          isEmpty={page.events.length === 0}
          urlOf={(from) => eventsUrl(fields, from)}
          first="Newest"
          empty={start !== null || isFiltered ? <NothingFound /> : <NoEvents />}
          searched={<Searched {...page} isBackwards={start?.side === 'before'} />}
        >
          <EventTable events={page.events} />
        </List>
      </Page>,
    );
  });

  return app.route('/', eventPage(options));
}

type EventFiltersProps = {
  readonly fields: FilterFields;
  readonly filter: EventFilter | null;
  readonly errors: Partial<FilterFields>;
};

function EventFilters({ fields, filter, errors }: EventFiltersProps) {
  const { search, outcome, type } = fields;
  return (
    <FilterForm label="Events" path="/events" fields={fields}>
      <Field
        label="Event, customer, subscription or team"
        name="search"
        type="search"
        value={search}
        error={errors.search}
        maxlength={300}
      />
      <Select
        label="Outcome"
        name="outcome"
        any="any outcome"
        options={LOGGED_OUTCOMES}
        textOf={outcomeText}
        value={outcome}
      />
      <Select label="Type" name="type" any="any type" options={LOGGED_TYPES} value={type} />
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

type SearchedProps = Pick<PageOfEvents, 'searchedToMs'> & { readonly isBackwards: boolean };

function Searched({ searchedToMs, isBackwards }: SearchedProps) {
  return (
    <>
      Searched everything received {isBackwards ? 'until' : 'since'} <Time ms={searchedToMs ?? 0} />
      . There may be {isBackwards ? 'newer' : 'older'} events.
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
