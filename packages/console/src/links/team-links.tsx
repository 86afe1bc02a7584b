import type { ApplicationId, NamedTeam } from 'instep-operate';
import { isVisible, UntrustedText } from '../components/text.tsx';

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
      {name !== undefined && name === team?.name && (
        <>
          {' '}
          <span class="quiet">team&nbsp;{id}</span>
        </>
      )}
    </>
  );
}
