// Names of the source that tests of several folders use: the only files that change when their modules move.

export { readCustomerIdsOf, readStates } from 'instep-engine/src/postgres/statements/customers.ts';
export { linkTeam } from 'instep-engine/src/postgres/statements/link-teams.ts';
export {
  storeNamelessProducts,
  writeProductName,
} from 'instep-engine/src/postgres/statements/products.ts';
export {
  addTeam,
  type LinkedTeam,
  readLinkedTeams,
  readTeam,
  readTeamsOf,
} from 'instep-engine/src/postgres/statements/teams.ts';
export { addUser } from 'instep-engine/src/postgres/statements/users.ts';
