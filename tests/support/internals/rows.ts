// Names of the source that tests of several folders use: the only files that change when their modules move.

export { readCustomerIdsOf, readStates } from 'instep-engine/src/postgres/statements/customers.ts';
export { lockTeams, setCustomer } from 'instep-engine/src/postgres/statements/lock-teams.ts';
export {
  applyProductName,
  storeNamelessProducts,
  writeProductName,
} from 'instep-engine/src/postgres/statements/products.ts';
export {
  addTeam,
  type LinkedTeam,
  readEmptyTeams,
  readLinkedTeams,
  readTeam,
  readTeamsOf,
  writePlans,
} from 'instep-engine/src/postgres/statements/teams.ts';
export { addUser } from 'instep-engine/src/postgres/statements/users.ts';
