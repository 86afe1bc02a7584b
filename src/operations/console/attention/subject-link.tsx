import { UntrustedText } from '../components/text.tsx';
import { filterUrl } from '../events/event-filter.ts';
import { eventUrl } from '../events/event-text.tsx';
import { teamUrl } from '../teams/find-teams.ts';
import { parseSubject, type Subject } from './subject.ts';

/** A link to the subject of an action. */
export function SubjectLink({ subject: text }: { readonly subject: string }) {
  const subject = parseSubject(text);
  if (subject === null) return <UntrustedText text={text} />;
  const { kind, id } = subject;
  const isNumbered = kind === 'team' || kind === 'event';
  return (
    <a href={urlOf(subject)}>
      <UntrustedText text={isNumbered ? `${kind} ${id}` : id} />
    </a>
  );
}

function urlOf({ kind, id }: Subject): string {
  switch (kind) {
    case 'team':
      return teamUrl(id);
    case 'customer':
      return filterUrl('/events', { customer: id });
    case 'subscription':
      return filterUrl('/events', { subscription: id });
    case 'event':
      return eventUrl(Number(id));
  }
}
