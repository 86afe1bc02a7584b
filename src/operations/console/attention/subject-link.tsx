import { UntrustedText } from '../components/text.tsx';
import { filterUrl } from '../events/event-filter.ts';
import { eventUrl } from '../events/event-text.tsx';
import { teamUrl } from '../teams/find-teams.ts';

/** A link to what an action concerned. */
export function SubjectLink({ subject }: { readonly subject: string }) {
  const [, kind, id = ''] = /^(team|customer|subscription|event):(.+)$/s.exec(subject) ?? [];
  const text = <UntrustedText text={kind === 'team' || kind === 'event' ? `${kind} ${id}` : id} />;
  switch (kind) {
    case 'team':
      return <a href={teamUrl(id)}>{text}</a>;
    case 'customer':
      return <a href={filterUrl('/events', { customer: id })}>{text}</a>;
    case 'subscription':
      return <a href={filterUrl('/events', { subscription: id })}>{text}</a>;
    case 'event':
      return <a href={eventUrl(Number(id))}>{text}</a>;
    default:
      return <UntrustedText text={subject} />;
  }
}
