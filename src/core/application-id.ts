/** The id of a team or a user: text for a `uuid`, a text, or a `bigint` that no number holds. */
export type ApplicationId = number | string;
