/** A time: in UTC, and where scripts run in the reader's zone, with the exact one on hover. */
export function Moment({ at }: { readonly at: Date }) {
  const exact = at.toISOString();
  return (
    <time datetime={exact} title={exact.replace('T', ' ').replace('Z', ' UTC')}>
      {exact.slice(0, 19).replace('T', ' ')} UTC
    </time>
  );
}
