import type { Child } from 'hono/jsx';
import {
  counted,
  type NamedTeam,
  type PlanChange,
  parseSubject,
  type RecordedAction,
  type Timeline,
  type TimelineItem,
  type TimelinePart,
} from 'instep/operate';
import { stateWord } from '../actions/action-summary.tsx';
import { SubjectLink } from '../actions/subject-link.tsx';
import { causeText, resultText } from '../actions/words.ts';
import { Badge, OutcomeBadge, StatusBadge, type Tone } from '../components/badges.tsx';
import { Id } from '../components/id.tsx';
import { Pager } from '../components/pager.tsx';
import { Notice, Panel } from '../components/panels.tsx';
import { hasPlan, PlanStep, shortPlan } from '../components/plan-step.tsx';
import { Table } from '../components/table.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { EventLink, filterUrl, ReasonText, shortType } from '../links/event-links.tsx';
import { TeamLink, teamName, teamUrl } from '../links/team-links.tsx';
import { Page } from '../page.tsx';
import { urlWith } from '../query-parameters.ts';

/** How many items a page has. */
export const PAGE_ITEMS = 30;

const PARTS = {
  events: "Stripe's events",
  changes: 'Changes of the plan',
  operators: 'What operators did',
} as const satisfies Record<TimelinePart, string>;

const NAMES = ['events', 'changes', 'operators'] as const;

/** The requested part of the timeline; `null`: all. */
export const partNamed = (text: string | undefined): TimelinePart | null =>
  NAMES.find((part) => part === text) ?? null;

export type TimelineProps = {
  readonly team: NamedTeam;
  readonly timeline: Timeline;
  readonly part: TimelinePart | null;
  readonly isNewest: boolean;
};

/** All that happened to a team, with the plans that it had meanwhile above it. */
export function TimelinePanel({ team, timeline, part, isNewest }: TimelineProps) {
  const { items, next, prunedBeforeMs } = timeline;
  const urlOf = (show: TimelinePart | null, before: string | null = null) =>
    `${urlWith(teamUrl(team.id), { show, before })}#timeline`;
  return (
    <Panel title="Timeline" id="timeline">
      <nav class="pager" aria-label="Part of the timeline">
        {[null, ...NAMES].map((one) => (
          <a href={urlOf(one)} aria-current={one === part ? 'true' : undefined}>
            {one === null ? 'Everything' : PARTS[one]}
          </a>
        ))}
      </nav>
      {items.length === 0 ? (
        <Notice kind="empty" title={isNewest ? 'Nothing yet' : 'Nothing older'} />
      ) : (
        <>
          <Band items={items} isNewest={isNewest} />
          <ItemTable items={items} />
        </>
      )}
      <Pager
        first={!isNewest && { href: urlOf(part), text: 'Newest' }}
        next={next !== null && { href: urlOf(part, next), text: 'Older' }}
      />
      {prunedBeforeMs !== null && (
        <p class="quiet">
          Events received before <Time ms={prunedBeforeMs} /> may have been pruned from the log.
        </p>
      )}
    </Panel>
  );
}

/** The page of an older part. */
export function OlderPage(props: TimelineProps) {
  const { team } = props;
  return (
    <Page
      title={`Older timeline of ${teamName(team)}`}
      heading={
        <>
          Older timeline of <TeamLink id={team.id} team={team} />
        </>
      }
      area="Teams"
    >
      <TimelinePanel {...props} />
    </Page>
  );
}

const rowId = (index: number) => `item-${index}`;

type Items = { readonly items: readonly TimelineItem[] };

/** Narrower ones could not be pointed at. */
const LEAST_SHARE = 0.015;

/** The plans that the team had, each as long as it had it, as far as the items show them. */
function Band({ items, isNewest }: Items & Pick<TimelineProps, 'isNewest'>) {
  const steps = items.flatMap(({ plans, atMs }, index) =>
    plans === null ? [] : [{ ...plans, atMs, index }],
  );
  const [newest, first] = [steps[0], steps.at(-1)];
  if (newest === undefined || first === undefined) return null;
  const [endMs, startMs] = [items[0]?.atMs ?? 0, items.at(-1)?.atMs ?? 0];
  const spans = [
    { after: first.before, atMs: startMs, index: items.length - 1 },
    ...steps.toReversed(),
  ];
  // The last plan goes on after the last item.
  const tailMs = isNewest ? Math.max(1, endMs - startMs) / 5 : 1;
  const lengths = spans.map(({ atMs }, index) =>
    Math.max(0, (spans[index + 1]?.atMs ?? endMs + tailMs) - atMs),
  );
  const total = Math.max(
    1,
    lengths.reduce((sum, length) => sum + length, 0),
  );
  const shares = lengths.map((length) => LEAST_SHARE + length / total);
  const whole = shares.reduce((sum, share) => sum + share, 0);
  const percent = (share: number) => `${((100 * share) / whole).toFixed(2)}%`;
  let left = 0;
  return (
    <figure class="band">
      <svg width="100%" height="28" aria-label="Plans of the team, oldest first">
        {spans.map(({ after, atMs, index }, span) => {
          const share = shares[span] ?? 0;
          const x = percent(left);
          left += share;
          const name = shortPlan(after);
          const since = new Date(atMs).toISOString().slice(0, 16).replace('T', ' ');
          return (
            <foreignObject x={x} y={0} width={percent(share)} height={28}>
              <a
                class={hasPlan(after) ? 'plan' : 'plan none'}
                href={`#${rowId(index)}`}
                title={`${name}, since ${since} UTC`.toWellFormed()}
              >
                <UntrustedText text={name} maxLength={60} />
              </a>
            </foreignObject>
          );
        })}
      </svg>
      <figcaption class="quiet">
        <Time ms={startMs} /> <span>{isNewest ? 'now' : <Time ms={endMs} />}</span>
      </figcaption>
    </figure>
  );
}

const COLUMNS = ['When', 'What', 'Plan', { name: 'Why', class: 'wide' }] as const;

function ItemTable({ items }: Items) {
  const subscriptionIds = items.map((item) =>
    item.kind === 'event' ? item.subscription.subscriptionId : null,
  );
  const hasSeveral = new Set(subscriptionIds.filter((id) => id !== null)).size > 1;
  const rows = groupsOf(items).map((group) =>
    group.items.length > 1 ? foldedCells(group, hasSeveral) : itemCells(group, hasSeveral),
  );
  return <Table label="Timeline, newest first" columns={COLUMNS} rows={rows} />;
}

type Group = Items & {
  /** Of the first of them. */
  readonly index: number;
};

/** Events in a row that were applied and left the plan as it was are one row. */
function groupsOf(items: readonly TimelineItem[]): Group[] {
  const groups: { items: TimelineItem[]; index: number }[] = [];
  for (const [index, item] of items.entries()) {
    const last = groups.at(-1);
    if (last?.items.every(isRepeated) && isRepeated(item)) last.items.push(item);
    else groups.push({ items: [item], index });
  }
  return groups;
}

const isRepeated = (item: TimelineItem) =>
  item.kind === 'event' && item.event.outcome === 'applied' && item.plans === null;

function foldedCells({ items, index }: Group, hasSeveral: boolean): Child[] {
  const [newest, oldest] = [items[0], items.at(-1)];
  return [
    <>
      <Time ms={oldest?.atMs ?? 0} format="age" /> to <Time ms={newest?.atMs ?? 0} format="age" />
    </>,
    <div id={rowId(index)}>{counted(items.length, 'event')}</div>,
    'as before',
    <details>
      <summary>Show them</summary>
      <ul>
        {items.map((item) => (
          <li>
            <What {...{ item, hasSeveral }} /> <Time ms={item.atMs} format="age" />
          </li>
        ))}
      </ul>
    </details>,
  ];
}

function itemCells({ items: [item], index }: Group, hasSeveral: boolean): Child[] {
  if (item === undefined) return [];
  return [
    <Time ms={item.atMs} format="age" />,
    <div id={rowId(index)}>
      <What {...{ item, hasSeveral }} />
    </div>,
    item.plans === null ? isRepeated(item) ? 'as before' : '–' : <PlanStep {...item.plans} />,
    <Why item={item} />,
  ];
}

/** What changed the plan, in a word or two. */
const CAUSES = {
  app: 'changed by your app',
  event: 'event',
  snapshot: 'asked of Stripe',
  repair: 'repaired',
  rebuild: 'rebuilt',
  link: 'linked or unlinked',
  name: 'product renamed',
  operator: 'changed by an operator',
} as const satisfies Record<PlanChange['cause'], string>;

const resultOf = ({ subject, result }: RecordedAction) =>
  resultText(parseSubject(subject)?.kind ?? null, result);

type ItemProps = { readonly item: TimelineItem };

type WhatProps = ItemProps & {
  /** Whether the events are of several subscriptions. */
  readonly hasSeveral: boolean;
};

function What({ item, hasSeveral }: WhatProps) {
  if (item.kind !== 'event') {
    const { word, tone = 'accent', by = null } = signOf(item);
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
  const { event, subscription } = item;
  return (
    <>
      <OutcomeBadge outcome={event.outcome} /> <EventLink event={event} />
      <div class="quiet">
        {shortType(event.type)}, <StatusBadge status={subscription.status} />
        {hasSeveral && subscription.subscriptionId !== null && (
          <>
            {' '}
            of <Id text={subscription.subscriptionId} />
          </>
        )}
      </div>
    </>
  );
}

type Sign = { readonly word: string; readonly tone?: Tone; readonly by?: string | null };

/** What happened in a word or two, and who did it. */
function signOf(item: Exclude<TimelineItem, { kind: 'event' }>): Sign {
  switch (item.kind) {
    case 'change': {
      const { cause, operator } = item.change;
      return { word: CAUSES[cause], tone: cause === 'app' ? 'warning' : 'accent', by: operator };
    }
    case 'action': {
      const { action, isDone, operator } = item.action;
      return isDone
        ? { word: action, by: operator }
        : { word: `${action} ${stateWord(item.action)}`, tone: 'bad', by: operator };
    }
    case 'refused':
      return { word: 'plan refused', tone: 'bad' };
  }
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
    case 'refused':
      return <>{causeText(item.issue.evidence)}</>;
  }
}

/** A later arrival is worth a sentence. */
const LATE_MS = 60_000;

function WhyChanged({ cause, eventId, possibleSince }: PlanChange) {
  if (cause === 'app') {
    return (
      <>
        Instep noticed it then.
        {possibleSince !== null && (
          <>
            {' '}
            It was changed after <Time ms={possibleSince.getTime()} />.
          </>
        )}
      </>
    );
  }
  if (eventId === null) return <>–</>;
  return (
    <>
      By the event{' '}
      <a href={filterUrl('/events', { event: eventId })}>
        <UntrustedText text={eventId} />
      </a>
    </>
  );
}
