import type { Child } from 'hono/jsx';
import {
  type NamedTeam,
  parseSubject,
  type RecordedAction,
  type Timeline,
  type TimelineChange,
  type TimelineItem,
} from 'instep-operate';
import { stateWord } from '../actions/action-summary.tsx';
import { resultText } from '../actions/words.ts';
import { Badge, OutcomeBadge, StatusBadge, shortType, type Tone } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { Pager } from '../components/list.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { PlanStep } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { EventLink, eventsOf, ReasonText, SubjectLink, teamUrl } from '../links.tsx';
import { urlWith } from '../query-parameters.ts';

/** How many items a page has. */
export const PAGE_ITEMS = 30;

export type TimelineProps = {
  readonly team: NamedTeam;
  readonly timeline: Timeline;
};

/** All that happened to a team, with the plans that it had meanwhile. */
export function TimelinePanel({ team, timeline }: TimelineProps) {
  const { rows, next, previous, prunedBeforeMs } = timeline;
  const urlOf = (from: Readonly<Record<string, string>>) =>
    `${urlWith(teamUrl(team.id), from)}#timeline`;
  return (
    <Panel title="Timeline" id="timeline">
      {rows.length === 0 ? (
        <Notice kind="empty" title={previous === null ? 'Nothing yet' : 'Nothing older'} />
      ) : (
        <ItemTable items={rows} />
      )}
      <Pager
        first={previous !== null && { href: urlOf({}), text: 'Newest' }}
        previous={previous !== null && { href: urlOf({ before: previous }), text: 'Newer' }}
        next={next !== null && { href: urlOf({ after: next }), text: 'Older' }}
      />
      {prunedBeforeMs !== null && (
        <p class="quiet">
          Events received before <Time ms={prunedBeforeMs} /> may have been pruned from the log.
        </p>
      )}
    </Panel>
  );
}

const COLUMNS = ['When', 'What', 'Plan', { name: 'Why', class: 'wide' }] as const;

function ItemTable({ items }: { readonly items: readonly TimelineItem[] }) {
  const subscriptionIds = items.map((item) =>
    item.kind === 'event' ? item.subscription.subscriptionId : null,
  );
  const hasSeveral = new Set(subscriptionIds.filter((id) => id !== null)).size > 1;
  const rows = items.map((item) => itemCells(item, hasSeveral));
  return <Table label="Timeline, newest first" columns={COLUMNS} rows={rows} />;
}

function itemCells(item: TimelineItem, hasSeveral: boolean): Child[] {
  return [
    <Time ms={item.atMs} format="age" />,
    <What {...{ item, hasSeveral }} />,
    item.plans === null ? isRepeated(item) ? 'as before' : '–' : <PlanStep {...item.plans} />,
    <Why item={item} />,
  ];
}

const isRepeated = (item: TimelineItem) =>
  item.kind === 'event' && item.event.outcome === 'applied';

/** What changed the plan, in a word or two. */
const CAUSES = {
  event: 'event',
  snapshot: 'asked of Stripe',
  repair: 'repaired',
  rebuild: 'rebuilt',
  link: 'linked or unlinked',
  name: 'product renamed',
  operator: 'changed by an operator',
} as const satisfies Record<TimelineChange['cause'], string>;

const resultOf = ({ subject, result }: RecordedAction) =>
  resultText(parseSubject(subject)?.kind ?? null, result);

type ItemProps = { readonly item: TimelineItem };

type WhatProps = ItemProps & {
  /** Whether the events are of several subscriptions. */
  readonly hasSeveral: boolean;
};

/** What happened in a word or two, and who did it. */
function What({ item, hasSeveral }: WhatProps) {
  switch (item.kind) {
    case 'change': {
      const { cause, operator } = item.change;
      return <Sign word={CAUSES[cause]} tone="accent" by={operator} />;
    }
    case 'action': {
      const { action, isDone, operator } = item.action;
      const word = isDone ? action : `${action} ${stateWord(item.action)}`;
      return <Sign word={word} tone={isDone ? 'accent' : 'bad'} by={operator} />;
    }
    case 'event': {
      const { event, subscription } = item;
      const id = hasSeveral ? subscription.subscriptionId : null;
      return (
        <>
          <OutcomeBadge outcome={event.outcome} /> <EventLink event={event} />
          <div class="quiet">
            {shortType(event.type)}, <StatusBadge status={subscription.status} />
            {id !== null && ' of '}
            {id !== null && <Id text={id} />}
          </div>
        </>
      );
    }
  }
}

type SignProps = { readonly word: string; readonly tone: Tone; readonly by: string | null };

function Sign({ word, tone, by }: SignProps) {
  return (
    <>
      <Badge tone={tone}>{word}</Badge>
      {by !== null && (
        <div class="quiet">
          by <UntrustedText text={by} />
        </div>
      )}
    </>
  );
}

function Why({ item }: ItemProps) {
  switch (item.kind) {
    case 'event': {
      const { createdAtMs, receivedAtMs } = item.event;
      const isLate = createdAtMs !== null && Math.abs(item.atMs - createdAtMs) > LATE_MS;
      return (
        <>
          {item.reasons.map((reason) => (
            <div>
              <ReasonText reason={reason} />
            </div>
          ))}
          {isLate && (
            <div class="quiet">
              Created at Stripe <Time ms={createdAtMs} />, received <Time ms={receivedAtMs} />.
            </div>
          )}
        </>
      );
    }
    case 'change':
      return <WhyChanged {...item.change} />;
    case 'action':
      return (
        <>
          <SubjectLink {...item.action} />:{' '}
          <UntrustedText text={resultOf(item.action)} maxLength={400} />
          {item.action.note !== null && (
            <div>
              “<UntrustedText text={item.action.note} maxLength={500} />”
            </div>
          )}
        </>
      );
  }
}

/** A later arrival is worth a sentence. */
const LATE_MS = 60_000;

function WhyChanged({ eventId }: TimelineChange) {
  if (eventId === null) return <>–</>;
  return (
    <>
      By the event{' '}
      <a href={eventsOf('event', eventId)}>
        <UntrustedText text={eventId} />
      </a>
    </>
  );
}
