export const SUBJECT_KINDS = ['team', 'customer', 'event'] as const;

/** What an action is about. */
export type Subject = {
  readonly kind: (typeof SUBJECT_KINDS)[number];
  readonly id: string;
};

/**
 * The text under which a subject is stored.
 *
 * @example
 * ```ts
 * console.log(subjectText({ kind: 'team', id: '1' })); // team:1
 * ```
 */
export function subjectText({ kind, id }: Subject): string {
  return `${kind}:${id}`;
}

/**
 * Parses the text under which a subject is stored; `null` for any other text, such as `teams:all`.
 *
 * @example
 * ```ts
 * console.log(parseSubject('team:1')?.kind); // team
 * ```
 */
export function parseSubject(text: string): Subject | null {
  const [, name, id] = /^([a-z]+):(.+)$/s.exec(text) ?? [];
  const kind = SUBJECT_KINDS.find((known) => known === name);
  return kind === undefined || id === undefined ? null : { kind, id };
}
