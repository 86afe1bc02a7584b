import type { ApplicationId, NamedTeam } from 'instep/operate/inside';
import { UntrustedText } from '../components/text.tsx';
import { teamName, teamUrl } from './find-teams.ts';

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
      {name !== undefined && name === team?.name && (
        <>
          {' '}
          <span class="quiet">team&nbsp;{id}</span>
        </>
      )}
    </>
  );
}
