import { Hono } from 'hono';
import { LOGGED_OUTCOMES } from '../../../core/logged-event.ts';
import { type PageOfEvents, readPageOfEvents } from '../../../event-log/event-page.ts';
import { readNewestPosition } from '../../../event-log/search.ts';
import { LOGGED_TYPES } from '../../../stripe/handled-event-type.ts';
import { Button, Field, Select } from '../components/form.tsx';
import { autoLoad, Pager } from '../components/pager.tsx';
import { Notice } from '../components/panels.tsx';
import { Time } from '../components/text.tsx';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import { badRequest } from '../problems.tsx';
import { queryNumber } from '../query-parameters.ts';
import {
  type FieldErrors,
  type FilterFields,
  filterUrl,
  parseFilter,
  readFields,
} from './event-filter.ts';
import { eventPage } from './event-page.tsx';
import { EventTable } from './event-table.tsx';
import { countNewer, NewerEvents, readBaseline } from './newer-events.tsx';

const LIMIT = 50;

/** `/events`: the event log, newest first, with a filter; and each event's page. */
export function eventPages(options: ConsoleOptions): Hono {
  const { database, now, clockMs } = options;
  const { query } = database;
  const app = new Hono();

  app.get('/', async ({ req, html }) => {
    const fields = readFields((name) => req.query(name));
    const nowMs = now();
    const { filter, errors } = await parseFilter(query, fields, nowMs);
    const form = <FilterForm fields={fields} errors={errors} />;
    if (filter === null) {
      return html(
        <Page title="Events" area="Events">
          {form}
          <Notice kind="error" title="Check the highlighted fields">
            {Object.values(errors).join(' ')}
          </Notice>
        </Page>,
        400,
      );
    }
    const before = queryNumber(req.query('before'));
    const newest = await readNewestPosition(query);
    // Before the page is read: an event that arrives in between is reported twice, never lost.
    const baseline = before === null ? await readBaseline(query, filter, newest) : null;
    const page = await readPageOfEvents(query, { filter, before, limit: LIMIT, clockMs });
    return html(
      <Page title="Events" area="Events">
        {form}
        {baseline && <NewerEvents {...{ fields, baseline, newer: 0, nowMs }} />}
        <div id="results">
          {page.events.length > 0 && <EventTable events={page.events} />}
          <PageEnd fields={fields} page={page} isLogEmpty={newest === 0} />
          <EventPager fields={fields} page={page} isFirst={before === null} />
        </div>
      </Page>,
    );
  });

  app.get('/newer', async ({ req, html }) => {
    const fields = readFields((name) => req.query(name));
    const after = queryNumber(req.query('after'));
    const count = queryNumber(req.query('count'));
    const nowMs = now();
    const { filter } = await parseFilter(query, fields, nowMs);
    if (filter === null || after === null || count === null) {
      throw badRequest('Reload the page of events.');
    }
    const baseline = { after, count };
    const newer = await countNewer(query, filter, baseline);
    return html(<NewerEvents {...{ fields, baseline, newer, nowMs }} />);
  });

  return app.route('/', eventPage(options));
}

type FilterFormProps = { readonly fields: FilterFields; readonly errors: FieldErrors | null };

function FilterForm({ fields, errors }: FilterFormProps) {
  const propsOf = (name: keyof FilterFields) => ({
    name,
    value: fields[name],
    error: errors?.[name],
  });
  return (
    <search aria-label="Events">
      <form method="get" action="/events" class="row">
        <Field label="Event" type="search" maxlength={300} {...propsOf('event')} />
        <Field label="Customer" type="search" maxlength={300} {...propsOf('customer')} />
        <Field label="Subscription" type="search" maxlength={300} {...propsOf('subscription')} />
        <Field label="Team" type="search" maxlength={20} {...propsOf('team')} />
        <Select label="Type" any="any type" options={LOGGED_TYPES} {...propsOf('type')} />
        <Select
          label="Outcome"
          any="any outcome"
          options={LOGGED_OUTCOMES}
          {...propsOf('outcome')}
        />
        <Field label="Since (2h or a date)" maxlength={40} {...propsOf('since')} />
        <Button kind="main">Filter</Button>
      </form>
    </search>
  );
}

type PageEndProps = { readonly fields: FilterFields; readonly page: PageOfEvents };

/** What else there is when the page is not full. */
function PageEnd({ fields, page, isLogEmpty }: PageEndProps & { readonly isLogEmpty: boolean }) {
  if (isLogEmpty) {
    return (
      <Notice kind="empty" title="No events yet">
        Register /api/stripe/webhook at Stripe for the two subscription events, or send one
        yourself: npx instep trigger
      </Notice>
    );
  }
  const { events, before, searchedToMs } = page;
  const isEmpty = events.length === 0;
  if (before !== null && searchedToMs !== null) {
    return (
      <p class="quiet" {...(isEmpty && autoLoad(filterUrl('/events', fields, { before })))}>
        Searched everything received since <Time ms={searchedToMs} />. There may be older events.
      </p>
    );
  }
  if (!isEmpty) return null;
  return (
    <Notice kind="empty" title="No event found">
      Remove a filter, or choose an earlier time.
    </Notice>
  );
}

function EventPager({ fields, page, isFirst }: PageEndProps & { readonly isFirst: boolean }) {
  const { before, searchedToMs } = page;
  const nextText = searchedToMs === null ? 'Older' : 'Search further back';
  return (
    <Pager
      first={!isFirst && { href: filterUrl('/events', fields), text: 'Newest' }}
      next={before !== null && { href: filterUrl('/events', fields, { before }), text: nextText }}
    />
  );
}
