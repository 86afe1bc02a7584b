/** An operator sees and does everything. A viewer changes nothing, and sees payloads without personal data. */
export const ROLES = ['operator', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** A token of the operations listener, and whose it is. */
export type NamedToken = {
  /** The audit keeps it. */
  readonly name: string;
  readonly role: Role;
  readonly token: string;
};
