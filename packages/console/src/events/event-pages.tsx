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
import { ExportLink } from '../components/export-link.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { Field, Select, TimeField } from '../components/form.tsx';
import { ListEnd, readStart } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { type FilterFields, filterUrl, NO_FILTER } from '../links/event-links.tsx';
import { Page } from '../page.tsx';
import { queryNumber, queryText, readFields } from '../query-parameters.ts';
import { type FieldErrors, filterNamed, parseFilter } from './event-filter.ts';
import { eventPage } from './event-page.tsx';
import { EventTable } from './event-table.tsx';
import { NoEvents } from './no-events.tsx';

const LIMIT = 50;

/** `/events`: the event log, newest first, with a filter; and each event's page. */
export function eventPages(options: OperateContext): Hono {
  const { now } = options;
  const app = new Hono();

  app.get('/', async (context) => {
    const { req, render, redirect, status } = context;
    const fields = readFields(NO_FILTER, (name) => req.query(name));
    const entered = queryText(req.query('add'));
    const added = filterNamed(entered);
    if (added !== null) return redirect(filterUrl('/events', { ...fields, ...added }), 303);
    const nowMs = now();
    const parsed = await parseFilter(options, fields, nowMs);
    const { filter, errors } =
      entered === '' ? parsed : { filter: null, errors: { ...parsed.errors, add: NOT_ADDED } };
    const form = <EventFilters {...{ fields, filter, errors, entered }} />;
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
    return render(
      <Page title="Events" area="Events">
        {form}
        <div id="results">
          {page.events.length > 0 && (
            <>
              <ExportLink url={filterUrl('/events', fields)} />
              <EventTable events={page.events} />
            </>
          )}
          {page.events.length === 0 && page.searchedTo === null && (
            <NothingFound isFiltered={start !== null || isFilter(fields)} />
          )}
          <ListEnd
            {...{ ...page, start }}
            isEmpty={page.events.length === 0}
            urlOf={(from) => filterUrl('/events', fields, from)}
            first="Newest"
            searched={<Searched {...page} isBackwards={start?.side === 'before'} />}
          />
        </div>
      </Page>,
    );
  });

  return app.route('/', eventPage(options));
}

const NOT_ADDED = 'Enter an id (evt_…, cus_…, sub_…) or the number of a team.';

const isFilter = (fields: FilterFields) => Object.values(fields).some((value) => value !== '');

type EventFiltersProps = {
  readonly fields: FilterFields;
  readonly filter: EventFilter | null;
  readonly errors: FieldErrors | null;
  /** What was entered in the search bar, if that is no filter. */
  readonly entered?: string;
};

/** The filters that are entered in the search bar; the others have fields of their own. */
const IDS = ['event', 'customer', 'subscription', 'team'] as const;

/** What is entered in the search bar is added to the filters. */
function EventFilters({ fields, filter, errors, entered = '' }: EventFiltersProps) {
  const { outcome, type } = fields;
  return (
    <FilterForm
      label="Events"
      path="/events"
      fields={fields}
      hidden={IDS}
      inputs={
        <Field
          label="Event, customer, subscription or team"
          name="add"
          type="search"
          value={entered}
          error={errors?.add}
          maxlength={300}
        />
      }
      textOf={outcomeText}
      times={{ from: filter?.sinceMs, until: filter?.untilMs }}
    >
      <details open={errors?.from !== undefined || errors?.until !== undefined}>
        <summary>Time, outcome and type</summary>
        <div class="row">
          <TimeField label="From" name="from" ms={filter?.sinceMs} error={errors?.from} />
          <TimeField label="Until" name="until" ms={filter?.untilMs} error={errors?.until} />
          <Select
            label="Outcome"
            name="outcome"
            any="any outcome"
            options={LOGGED_OUTCOMES}
            textOf={outcomeText}
            value={outcome}
          />
          <Select label="Type" name="type" any="any type" options={LOGGED_TYPES} value={type} />
        </div>
      </details>
    </FilterForm>
  );
}

function NothingFound({ isFiltered }: { readonly isFiltered: boolean }) {
  if (!isFiltered) return <NoEvents />;
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
