import type { Concern } from './issues.ts';

/** One sentence: whether anybody has to do anything. What it is follows. */
export function Verdict({ concerns }: { readonly concerns: readonly Concern[] }) {
  if (concerns.length === 0) {
    return (
      <p class="verdict good">
        <strong>All is in step.</strong> Nobody has to do anything.
      </p>
    );
  }
  const many = concerns.length > 1;
  return (
    <section class="verdict bad" aria-labelledby="verdict">
      <p>
        <strong id="verdict">
          {many
            ? `${concerns.length} things do not repair by themselves.`
            : 'One thing does not repair by itself.'}
        </strong>
      </p>
      <ul>
        {concerns.map(({ says, whatToDo, link }, index) => (
          <li>
            {says} {whatToDo}{' '}
            {link && (
              <a id={`concern-${index}`} href={link.path}>
                {link.text}
              </a>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
