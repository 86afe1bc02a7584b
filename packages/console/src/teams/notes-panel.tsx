import type { ExplainedTeam } from 'instep/operate';
import { Button, Field, PostForm } from '../components/form.tsx';
import { Panel } from '../components/panels.tsx';
import { Time, UntrustedText } from '../components/text.tsx';
import { teamUrl } from '../links/team-links.tsx';
import { canAct } from '../request-context.ts';

type NotesPanelProps = Pick<ExplainedTeam, 'team' | 'operatorNotes'>;

/** What operators wrote about the team, with who and when. */
export function NotesPanel({ team: { id }, operatorNotes: notes }: NotesPanelProps) {
  if (notes.length === 0 && !canAct()) return null;
  return (
    <Panel title="Notes" id="notes">
      {notes.map(({ callId, note, operator, actedAtMicroseconds }) => (
        <div class="row">
          <p>
            <UntrustedText text={note ?? ''} maxLength={1_000} />{' '}
            <span class="quiet">
              <UntrustedText text={operator} maxLength={80} />,{' '}
              <Time ms={Math.floor(actedAtMicroseconds / 1_000)} format="age" />
            </span>
          </p>
          <PostForm action={`${teamUrl(id)}/remove-note`}>
            <input type="hidden" name="noteId" value={callId} />
            <Button>Remove</Button>
          </PostForm>
        </div>
      ))}
      <PostForm action={`${teamUrl(id)}/note`} class="row">
        <Field label="New note" name="note" id="new-note" maxlength={1_000} required />
        <Button>Add</Button>
      </PostForm>
    </Panel>
  );
}
