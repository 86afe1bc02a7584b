import { html } from 'hono/html';
import {
  type ApplicationId,
  type NamedTeam,
  parseSubject,
  type RecordedAction,
} from 'instep-operate';
import { isVisible, UntrustedText } from '../components/text.tsx';
import { urlWith } from '../query-parameters.ts';
import { EventLink, eventsOf } from './event-links.tsx';

export const NO_TEAM_FILTER = { search: '', status: '', plan: '', issue: '' };

/** The fields of the filter of teams; empty ones filter nothing. */
export type TeamFields = Readonly<typeof NO_TEAM_FILTER>;

/** The address of the list of teams with these fields. */
export const teamsUrl = (
  fields: Partial<TeamFields>,
  others: Readonly<Record<string, string | number>> = {},
) => urlWith('/teams', fields, others);

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

type SubjectLinkProps = Pick<RecordedAction, 'subject' | 'teamName' | 'eventId'>;

/** A link to the subject of an action. */
export function SubjectLink({ subject: text, teamName: name, eventId }: SubjectLinkProps) {
  const subject = parseSubject(text);
  if (subject === null) return <UntrustedText text={text} />;
  const { kind, id } = subject;
  if (kind === 'team') return <TeamLink id={id} team={name === null ? undefined : { id, name }} />;
  if (kind === 'event') return <EventLink event={{ eventId, position: Number(id) }} />;
  return (
    <>
      <a href={eventsOf(kind, id)}>
        <UntrustedText text={id} />
      </a>
      {name !== null && html` of ${<UntrustedText text={name} maxLength={80} />}`}
    </>
  );
}
