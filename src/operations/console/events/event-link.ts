import { DELETED_TYPE, SNAPSHOT_TYPE } from '../../../stripe/handled-event-type.ts';

/** Where an event is shown. */
export function eventUrl(position: number): string {
  return `/events/${position}`;
}

/** What an event is of, in a word or two. */
export function shortType(type: string): string {
  if (type === SNAPSHOT_TYPE) return "look at Stripe's API";
  return type === DELETED_TYPE ? 'deleted' : 'updated';
}
