const KINDS = ['team', 'customer', 'subscription', 'event'] as const;

/** The subject of an action, such as `team:1`. */
type Subject = { readonly kind: (typeof KINDS)[number]; readonly id: string };

/** Parses a subject; `null` for any other text. */
export function parseSubject(text: string): Subject | null {
  const [, name, id] = /^([a-z]+):(.+)$/s.exec(text) ?? [];
  const kind = KINDS.find((one) => one === name);
  return kind === undefined || id === undefined ? null : { kind, id };
}
