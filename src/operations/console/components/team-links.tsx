/** Links to teams, by their ids. */
export function TeamLinks({ ids }: { readonly ids: readonly number[] }) {
  return (
    <>
      {ids.map((id, index) => (
        <>
          {index > 0 && ', '}
          <a href={`/teams/${id}`}>team {id}</a>
        </>
      ))}
    </>
  );
}
