// Names of the source that tests of several folders use: the only files that change when their modules move.

export { makeAccessView } from 'instep/src/access/access-view.ts';
export { readAccess, reportOtherPolicy, storePolicy } from 'instep/src/access/team-access.ts';
