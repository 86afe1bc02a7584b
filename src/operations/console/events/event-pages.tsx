import { Hono } from 'hono';
import { type PageOfEvents, readPageOfEvents } from '../../../event-log/event-page.ts';
import { readNewestPosition } from '../../../event-log/search.ts';
import { autoLoad } from '../components/auto-load.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorNotice } from '../components/error-notice.tsx';
import { Moment } from '../components/moment.tsx';
import { Pager } from '../components/pager.tsx';
import type { ConsoleOptions } from '../options.ts';
import { Page } from '../page.tsx';
import { badRequest } from '../problems.ts';
import { queryNumber } from '../query-text.ts';
import { askedFilter, type FilterFields, filterUrl, readFields } from './event-filter.ts';
import { EventTable } from './event-table.tsx';
import { FilterForm } from './filter-form.tsx';
import { countNewer, NewerEvents, readKnown } from './newer-events.tsx';
import { oneEventPages } from './one-event.tsx';

const LIMIT = 50;

/** `/events`: the log, the newest first; and each event by itself. */
export function eventPages(options: ConsoleOptions): Hono {
  const { database, now } = options;
  const { query } = database;
  const app = new Hono();

  app.get('/', async ({ req, html }) => {
    const fields = readFields((name) => req.query(name));
    const { filter, errors } = await askedFilter(query, fields, now());
    const form = <FilterForm fields={fields} errors={errors} />;
    if (filter === null) {
      return html(
        <Page title="Events" area="Events">
          {form}
          <ErrorNotice title="That filter makes no sense">
            {Object.values(errors).join(' ')}
          </ErrorNotice>
        </Page>,
        400,
      );
    }
    const before = queryNumber(req.query('before'));
    const newest = await readNewestPosition(query);
    // Counted first: what comes in between is then told twice rather than never.
    const known = before === null ? await readKnown(query, filter, newest) : null;
    const page = await readPageOfEvents(query, { filter, before, limit: LIMIT, now });
    return html(
      <Page title="Events" area="Events">
        {form}
        {known !== null && <NewerEvents fields={fields} known={known} newer={0} />}
        <div id="found">
          {page.events.length > 0 && <EventTable events={page.events} />}
          <Rest fields={fields} page={page} isLogEmpty={newest === 0} />
          <Ways fields={fields} page={page} isFirst={before === null} />
        </div>
      </Page>,
    );
  });

  app.get('/newer', async ({ req, html }) => {
    const fields = readFields((name) => req.query(name));
    const after = queryNumber(req.query('after'));
    const count = queryNumber(req.query('count'));
    const { filter } = await askedFilter(query, fields, now());
    if (filter === null || after === null || count === null) {
      throw badRequest('Load the page of events again.');
    }
    const known = { after, count };
    const newer = await countNewer(query, filter, known);
    return html(<NewerEvents fields={fields} known={known} newer={newer} />);
  });

  return app.route('/', oneEventPages(options));
}

type RestProps = {
  readonly fields: FilterFields;
  readonly page: PageOfEvents;
  readonly isLogEmpty: boolean;
};

/** What is said below the events, where there are few or none. */
function Rest({ fields, page, isLogEmpty }: RestProps) {
  if (isLogEmpty) {
    return (
      <EmptyState title="No event has come yet">
        Register /api/stripe/webhook at Stripe for the two subscription events, or send one of your
        own: npx instep trigger
      </EmptyState>
    );
  }
  const { events, before, searchedToMs } = page;
  if (before !== null && searchedToMs !== null) {
    const isEmpty = events.length === 0;
    return (
      <p class="quiet" {...(isEmpty && autoLoad(filterUrl('/events', fields, { before })))}>
        All that was received since <Moment at={new Date(searchedToMs)} /> is searched. There may be
        more before.
      </p>
    );
  }
  if (events.length > 0) return null;
  return <EmptyState title="No such event">Ask for less, or for longer ago.</EmptyState>;
}

type WaysProps = {
  readonly fields: FilterFields;
  readonly page: PageOfEvents;
  readonly isFirst: boolean;
};

/** From page to page. */
function Ways({ fields, page, isFirst }: WaysProps) {
  const { before, searchedToMs } = page;
  if (isFirst && before === null) return null;
  return (
    <Pager
      first={isFirst ? null : { href: filterUrl('/events', fields), text: 'Newest' }}
      next={
        before === null
          ? null
          : {
              href: filterUrl('/events', fields, { before }),
              text: searchedToMs === null ? 'Older' : 'Search further back',
            }
      }
    />
  );
}
