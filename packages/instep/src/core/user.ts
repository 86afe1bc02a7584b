import type { ApplicationId } from './application-id.ts';

/** A user: the contract's fields in its order. Times are in ISO 8601. */
export type User = {
  /** A number, unless your table has ids of another type. */
  readonly id: ApplicationId;
  readonly name: string | null;
  readonly email: string;
  readonly passwordHash: string;
  readonly role: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly deletedAt: string | null;
};
