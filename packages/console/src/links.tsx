import { html } from 'hono/html';
import {
  type ApplicationId,
  countText,
  type EventRow,
  type Issue,
  type NamedTeam,
  type Person,
  parseSubject,
  type Reason,
  type ReasonPart,
  type RecordedAction,
  type Subject,
  type SubjectIssueCode,
} from 'instep-operate';
import { IdLink, PersonText, StripeId } from './components/id.tsx';
import { isVisible, UntrustedText } from './components/text.tsx';
import { urlWith } from './query-parameters.ts';

/** The team's name, or its id where the name is empty or invisible. */
export function teamName({ id, name }: Pick<NamedTeam, 'id' | 'name'>): string {
  return name !== null && isVisible(name) ? name : `Team ${id}`;
}

/** The team's page. */
export function teamUrl(id: ApplicationId): string {
  return `/teams/${encodeURIComponent(id)}`;
}

type TeamLinkProps = {
  readonly id: ApplicationId;
  /** `undefined`: the team is gone, or has another customer. */
  readonly team: Pick<NamedTeam, 'id' | 'name'> | undefined;
};

/** A link to a team by its name, with the id, because several teams can have the same name. */
export function TeamLink({ id, team }: TeamLinkProps) {
  const name = team && teamName(team);
  return (
    <>
      <a href={teamUrl(id)}>
        <UntrustedText text={name ?? `Team ${id}`} maxLength={60} />
      </a>
      {name !== undefined &&
        name === team?.name &&
        html` <span class="quiet">team\u00a0${id}</span>`}
    </>
  );
}

/** The events of a customer, a subscription or a team. */
export const eventsOf = (kind: Subject['kind'] | 'subscription', id: string): string =>
  urlWith('/events', { search: `${kind}:${id}` });

export const eventUrl = (position: number): string => `/events/${position}`;

type EventLinkProps = { readonly event: Pick<EventRow, 'eventId' | 'position'> };

export function EventLink({ event: { eventId, position } }: EventLinkProps) {
  const url = eventUrl(position);
  const isNamed = eventId !== null && isVisible(eventId);
  if (isNamed) return <IdLink href={url} id={eventId} />;
  return <a href={url}>event {position}</a>;
}

/** Why an event had its outcome. */
export function ReasonText({ reason }: { readonly reason: Reason }) {
  return (
    <>
      {reason.parts.map((part) => (
        <Part part={part} />
      ))}
    </>
  );
}

function Part({ part }: { readonly part: ReasonPart }) {
  if (typeof part === 'string') return <UntrustedText text={part} maxLength={600} />;
  return (
    <a href={eventUrl(part.position)}>
      <UntrustedText text={part.name} maxLength={100} />
    </a>
  );
}

export function CustomerLink({ customerId }: { readonly customerId: string }) {
  return <IdLink href={eventsOf('customer', customerId)} id={customerId} />;
}

type CustomerFactProps = {
  readonly customerId: string | null;
  /** Whom the customer stands for, as Stripe says now. */
  readonly person?: Person | undefined;
};

export function CustomerFact({ customerId, person }: CustomerFactProps) {
  return (
    <>
      <StripeId text={customerId} /> <PersonText person={person} />{' '}
      {customerId && (
        <a class="whole" href={eventsOf('customer', customerId)}>
          All events
        </a>
      )}
    </>
  );
}

type SubjectLinkProps = Pick<RecordedAction, 'subject' | 'teamName'>;

/** A link to the subject of an action. */
export function SubjectLink({ subject: text, teamName: name }: SubjectLinkProps) {
  const subject = parseSubject(text);
  if (subject === null) return <UntrustedText text={text} />;
  const { kind, id } = subject;
  if (kind === 'team') return <TeamLink id={id} team={name === null ? undefined : { id, name }} />;
  if (kind === 'event') return <a href={eventUrl(Number(id))}>event {id}</a>;
  return (
    <>
      <a href={eventsOf(kind, id)}>
        <UntrustedText text={id} />
      </a>
      {name !== null && html` of ${<UntrustedText text={name} maxLength={80} />}`}
    </>
  );
}

/** The name of each issue, in a list of issues. */
export const ISSUE_NAMES: Readonly<Record<SubjectIssueCode, string>> = {
  'out-of-sync': 'out of sync',
  'changed-by-hand': 'changed by hand',
  'plan-refused': 'plan refused',
  'unknown-customer': 'unknown customer',
  'customer-without-team': 'customer without a team',
  'parked-events': 'waiting for a team',
  'unknown-order': 'unknown order',
  'unreadable-event': 'unreadable event',
  'paid-without-plan': 'paid without a plan',
  'payment-due': 'payment due',
  'end-not-confirmed': 'end not confirmed',
  'charged-twice': 'charged twice',
};

/** `2`, or `100+` where counting stopped. */
export function issueCountText({ count, isMore }: Pick<Issue, 'count' | 'isMore'>): string {
  return isMore ? countText(count, count) : countText(count);
}
