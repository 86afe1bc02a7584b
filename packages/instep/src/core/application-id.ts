/**
 * The id of a team or a user: a string for a `uuid`, for text, and for a `bigint` beyond the range of a
 * number.
 */
export type ApplicationId = number | string;
