import type { RecordedAction, Subject } from 'instep/operate';
import { UntrustedText } from '../components/text.tsx';
import { EventLink, filterUrl } from '../links/event-links.tsx';
import { TeamLink } from '../links/team-links.tsx';

const KINDS = ['team', 'customer', 'subscription', 'event'] as const;

/** Parses a subject such as `team:1`; `null` for any other text. */
export function parseSubject(text: string): Subject | null {
  const [, name, id] = /^([a-z]+):(.+)$/s.exec(text) ?? [];
  const kind = KINDS.find((one) => one === name);
  return kind === undefined || id === undefined ? null : { kind, id };
}

/** The text that stands for a subject in forms and in the audit. */
export const subjectText = ({ kind, id }: Subject): string => `${kind}:${id}`;

type SubjectLinkProps = Pick<RecordedAction, 'subject' | 'teamName' | 'eventId'>;

/** A link to the subject of an action. */
export function SubjectLink({ subject: text, teamName: name, eventId }: SubjectLinkProps) {
  const subject = parseSubject(text);
  if (subject === null) return <UntrustedText text={text} />;
  const { kind, id } = subject;
  switch (kind) {
    case 'team':
      return <TeamLink id={id} team={name === null ? undefined : { id, name }} />;
    case 'event':
      return <EventLink event={{ eventId, position: Number(id) }} />;
    case 'customer':
    case 'subscription':
      return (
        <>
          <a href={filterUrl('/events', { [kind]: id })}>
            <UntrustedText text={id} />
          </a>
          {name !== null && (
            <>
              {' '}
              of <UntrustedText text={name} maxLength={80} />
            </>
          )}
        </>
      );
  }
}
