/**
 * The id of a team or a user: a string for a `uuid`, for text, and for a `bigint` beyond the range of a
 * number.
 */
export type ApplicationId = number | string;

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
