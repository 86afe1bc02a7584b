// Names of the source that tests of several folders use: the only files that change when their modules move.

export { readAccess, reportOtherPolicy, storePolicy } from 'instep/src/access/team-access.ts';
export { makeAccessView } from 'instep/src/postgres/access-view.ts';
