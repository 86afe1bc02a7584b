import { Hono } from 'hono';
import {
  type EventFilter,
  type EventRow,
  exportEvents,
  findEvents,
  LOGGED_OUTCOMES,
  LOGGED_TYPES,
  type OperateContext,
  type PageOfEvents,
  subscriptionOf,
} from 'instep/operate';
import { ExportLinks } from '../components/export-links.tsx';
import { Button, Field, Select, TimeField } from '../components/form.tsx';
import { autoLoad, Pager } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import { type Columns, exportedTime, exportList } from '../export.ts';
import { type FilterFields, filterUrl, NO_FILTER } from '../links/event-links.tsx';
import { Page } from '../page.tsx';
import { badRequest } from '../problems.tsx';
import { queryNumber, readFields } from '../query-parameters.ts';
import { type FieldErrors, OTHER_SIZES, pageSize, parseFilter } from './event-filter.ts';
import { eventPage } from './event-page.tsx';
import { EventTable } from './event-table.tsx';
import { countNewer, NewerEvents, readBaseline } from './newer-events.tsx';
import { NoEvents } from './no-events.tsx';

/** `/events`: the event log, newest first, with a filter; and each event's page. */
export function eventPages(options: OperateContext): Hono {
  const { now } = options;
  const app = new Hono();

  app.get('/', async (context) => {
    const { req, render, status } = context;
    const fields = readFields(NO_FILTER, (name) => req.query(name));
    const nowMs = now();
    const { filter, errors } = await parseFilter(options, fields, nowMs);
    const form = <FilterForm {...{ fields, filter, errors }} />;
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
      rows: (reading) => exportEvents(reading, filter),
    });
    if (file !== null) return file;
    const before = queryNumber(req.query('before'));
    const after = queryNumber(req.query('after'));
    // Before the page is read: an event that arrives in between is reported twice, never lost.
    const { events } = await findEvents(options, { limit: 1 });
    const newest = events[0]?.position ?? 0;
    const isFirst = before === null && after === null;
    const baseline = isFirst ? await readBaseline(options, filter, newest) : null;
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    const limit = pageSize(fields);
    const page = await findEvents(options, { filter, before, after, limit });
    return render(
      <Page title="Events" area="Events">
        {form}
        {baseline && <NewerEvents {...{ fields, baseline, newer: 0, nowMs }} />}
        <div id="results">
          {page.events.length > 0 && (
            <>
              <ExportLinks
                what={isFiltered ? 'all of these events' : 'all events'}
                url={filterUrl('/events', fields)}
              />
              <EventTable events={page.events} />
            </>
          )}
          <PageEnd
            fields={fields}
            page={page}
            isLogEmpty={newest === 0}
            isForward={after !== null}
          />
          <EventPager fields={fields} page={page} />
        </div>
      </Page>,
    );
  });

  app.get('/newer', async ({ req, render }) => {
    const fields = readFields(NO_FILTER, (name) => req.query(name));
    const after = queryNumber(req.query('after'));
    const count = queryNumber(req.query('count'));
    const nowMs = now();
    const { filter } = await parseFilter(options, fields, nowMs);
    if (filter === null || after === null || count === null) {
      throw badRequest('Reload the page of events.');
    }
    const baseline = { after, count };
    const newer = await countNewer(options, filter, baseline);
    return render(<NewerEvents {...{ fields, baseline, newer, nowMs }} />);
  });

  return app.route('/', eventPage(options));
}

type FilterFormProps = {
  readonly fields: FilterFields;
  readonly filter: EventFilter | null;
  readonly errors: FieldErrors | null;
};

function FilterForm({ fields, filter, errors }: FilterFormProps) {
  const propsOf = (name: keyof FilterFields) => ({
    name,
    value: fields[name],
    error: errors?.[name],
  });
  return (
    <search aria-label="Events">
      <form method="get" action="/events" class="filter">
        <TimeField label="From" name="from" ms={filter?.sinceMs} error={errors?.from} />
        <TimeField label="Until" name="until" ms={filter?.untilMs} error={errors?.until} />
        <Select
          label="Outcome"
          any="any outcome"
          options={LOGGED_OUTCOMES}
          {...propsOf('outcome')}
        />
        <Select label="Type" any="any type" options={LOGGED_TYPES} {...propsOf('type')} />
        <Field label="Customer" type="search" maxlength={300} {...propsOf('customer')} />
        <Field label="Subscription" type="search" maxlength={300} {...propsOf('subscription')} />
        <Field label="Event" type="search" maxlength={300} {...propsOf('event')} />
        <Field label="Invoice" type="search" maxlength={300} {...propsOf('invoice')} />
        <Field label="Team" type="search" maxlength={20} {...propsOf('team')} />
        <Select label="Per page" any="50" options={OTHER_SIZES} {...propsOf('size')} />
        <Button kind="main">Filter</Button>
      </form>
    </search>
  );
}

type PageEndProps = { readonly fields: FilterFields; readonly page: PageOfEvents };

type Whole = { readonly isLogEmpty: boolean; readonly isForward: boolean };

/** The end of a page that is not full: whether there can be more events. */
function PageEnd({ fields, page, isLogEmpty, isForward }: PageEndProps & Whole) {
  if (isLogEmpty) return <NoEvents />;
  const { events, before, after, searchedToMs } = page;
  const isEmpty = events.length === 0;
  if (searchedToMs !== null) {
    const rest = isForward ? { after: after ?? 0 } : { before: before ?? 0 };
    return (
      <p class="quiet" {...(isEmpty && autoLoad(filterUrl('/events', fields, rest)))}>
        Searched everything received {isForward ? 'until' : 'since'} <Time ms={searchedToMs} />.
        There may be {isForward ? 'newer' : 'older'} events.
      </p>
    );
  }
  if (!isEmpty) return null;
  return (
    <Notice kind="empty" title="No event found">
      Remove a filter, or choose another time. <a href="/events">Show all events</a>
    </Notice>
  );
}

function EventPager({ fields, page: { before, after } }: PageEndProps) {
  const linkTo = (text: string, start: Readonly<Record<string, number>>) => ({
    href: filterUrl('/events', fields, start),
    text,
  });
  return (
    <Pager
      first={after !== null && linkTo('Newest', {})}
      previous={after !== null && linkTo('Previous', { after })}
      next={before !== null && linkTo('Next', { before })}
    />
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
