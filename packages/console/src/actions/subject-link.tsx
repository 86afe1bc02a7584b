import { parseSubject, type RecordedAction } from 'instep-operate';
import { UntrustedText } from '../components/text.tsx';
import { EventLink, filterUrl } from '../links/event-links.tsx';
import { TeamLink } from '../links/team-links.tsx';

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
